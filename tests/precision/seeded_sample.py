"""Draw performance reports on packages by a seed, stratified by package and issue, to be judged.

``python seeded_sample.py --seed 1 --count 60 NAME=FOLDER ...`` prints the entries that
``seeded_performance.yaml`` lacks, ready to fill in, and the rate of those that it judges.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from rates import rate
from reports import CONTEXT, Found, found_for
from reviewed import FOLDER, judgements, read_reviews
from unreviewed import as_yaml, missing

from tilewright.source import parse_module

SEEDED = FOLDER / "seeded_performance.yaml"


def performance_reports(package: str, folder: Path) -> Iterator[Found]:
    """What ``check --target cuda:90`` says of a package's speed."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(errors="replace")
        if "jit" in text:
            file = str(path.relative_to(folder))
            for found in found_for(CONTEXT, package, file, parse_module(text, file)):
                if not found.is_about_correctness():
                    yield found


def drawn(found: Sequence[Found], seed: int, count: int) -> list[Found]:
    """Reports in turn from each package, and within a package from each issue, in random order."""
    chance = random.Random(seed)
    queues: dict[str, list[Found]] = {}
    for package in sorted({f.report.corpus for f in found}):
        queues[package] = _by_turns([f for f in found if f.report.corpus == package], chance)
    sample: list[Found] = []
    while len(sample) < count and any(queues.values()):
        names = [name for name, queue in queues.items() if queue]
        chance.shuffle(names)
        sample += [queues[name].pop(0) for name in names]
    return sorted(sample[:count], key=lambda f: (f.report.issue, f.report))


def _by_turns(found: Sequence[Found], chance: random.Random) -> list[Found]:
    of_issue: dict[str, list[Found]] = defaultdict(list)
    for one in sorted(found, key=lambda f: f.report):
        of_issue[one.report.issue].append(one)
    for reports in of_issue.values():
        chance.shuffle(reports)
    places = [
        (turn, chance.random(), report)
        for reports in of_issue.values()
        for turn, report in enumerate(reports)
    ]
    return [report for *_, report in sorted(places, key=lambda place: place[:2])]


def main() -> None:
    """Print the entries to be judged, and the rate of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("packages", nargs="+", help="NAME=FOLDER")
    given = parser.parse_args()
    found: list[Found] = []
    for package in given.packages:
        name, _, folder = package.partition("=")
        found += performance_reports(name, Path(folder))
    sample = drawn(found, given.seed, given.count)
    judged = judgements(read_reviews(SEEDED))
    sys.stdout.write("\n".join(as_yaml(f) for f in missing(sample, judged)))
    rated = rate(sample, judged)
    sys.stdout.write(
        f"\n# seed {given.seed}: {len(sample)} of {len(found)} reports on "
        f"{len(given.packages)} packages; judged {rated.reviewed}: "
        f"{dict(Counter(rated.verdicts))}, right {rated.right:.1%}\n"
    )


if __name__ == "__main__":
    main()
