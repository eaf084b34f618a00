"""Print reports that no list judges, as YAML to fill in: ``python unreviewed.py correctness``."""

import json
import sys
from collections.abc import Mapping, Sequence

from reports import Found, Report, about_correctness, found_in_corpora, sampled
from reviewed import CORRECTNESS, PERFORMANCE, Judgement, judgements, read_reviews


def missing(found: Sequence[Found], judged: Mapping[Report, Judgement]) -> list[Found]:
    """Those that still have to be judged."""
    return [f for f in found if f.report not in judged]


def as_yaml(found: Found) -> str:
    """One entry, its verdict left open; what the report says stands above it."""
    place = f"    - at: {found.report.place()}\n      line: {json.dumps(found.report.line)}\n"
    nth = f"      nth: {found.report.nth}\n" if found.report.nth > 1 else ""
    return (
        f"# line {found.number}: {found.message}\n"
        f"- issue: {found.report.issue}\n  verdict:\n  reason:\n  reports:\n{place}{nth}"
    )


def main() -> None:
    """Print the entries that one of the two lists lacks."""
    lists = {
        "correctness": (about_correctness, CORRECTNESS),
        "performance": (sampled, PERFORMANCE),
    }
    choose, path = lists[sys.argv[1]]
    judged = judgements(read_reviews(path))
    sys.stdout.write("\n".join(as_yaml(f) for f in missing(choose(found_in_corpora()), judged)))


if __name__ == "__main__":
    main()
