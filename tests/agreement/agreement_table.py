"""``make agreement``: the whole comparison as a page, and the causes of what differs."""

import argparse
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import corpora
import triton
from agreement import FileReport, NotCompiled
from causes import causes
from comparing import ASPECTS, DIFFERENT, EQUAL, SYMBOLIC, Tallies, Tally
from loading import without_device
from processes import report_files

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "agreement.md"
CAUSES = REPOSITORY / "build" / "agreement.md"

_FAILURES = {
    "written for another Triton, or a vendor's": r"removed in favor|module 'triton\S* has no attr"
    r"|'NoneType' object has no attr|NameError\('(fast_|_|xpu_|tle)|unsupported|not supported"
    r"|unexpected keyword|forget to add|do_not_specialize|out of range|Cannot access global"
    r"|cannot be reassigned|too many values",
    "not importable, or not at the top level": r"^import:|top level|process ended",
    "took too long": "took too long",
}
_GUESS = "the guessed arguments or constants do not fit"

INTRODUCTION = """\
# Tile inference and the compiler

Tile inference reads a kernel's text. Triton's own front end builds the kernel's TTIR for given
arguments. For each expression that yields a value in the TTIR this page compares the two: shape,
element type (with its sign, which Triton keeps next to the TTIR), and what kind of value it is.

How it is done: kernels of published packages are imported without a GPU; types and constants of
their parameters are guessed from their source (at most two guesses that compile are taken), and
inference is given the same types and constants as facts of a launch. The code generator's `visit`
is given a syntax node and returns its value: that pair is recorded, and matched by the node's place
in the file. An expression counts once for each specialization; code that a constexpr turns off is
not built and not compared. "Known" is the share of values of which inference claims something,
"equal" the share of those claims that the compiler confirms, "symbolic" counts shapes whose rank
agrees and whose extents are expressions that the comparison cannot evaluate. "constexpr" is about
expressions that the compiler folds: whether inference calls them so.

Functions that kernels call are apart: what they are called with is not in their text.

`make agreement` writes this page, and every disagreement with the lines that show it to
`build/agreement.md`. `tests/agreement/` asserts a floor on a sample.
"""


@dataclass
class Summary:
    """What one corpus came to."""

    package: str
    version: str
    files: int = 0
    kernels: int = 0
    called: int = 0
    specializations: int = 0
    failed: list[NotCompiled] = field(default_factory=list)
    broken: list[NotCompiled] = field(default_factory=list)
    tallies: Tallies = field(default_factory=Tallies)

    def add(self, report: FileReport) -> None:
        self.files += 1
        self.kernels += report.kernels
        self.called += report.called
        self.specializations += report.specializations
        self.failed += report.failed
        self.broken += report.broken
        self.tallies.add(report.tallies)


def summarize(package: str, paths: Iterable[Path], workers: int) -> Summary:
    """Compile and compare these files of a corpus."""
    summary = Summary(package, corpora.version(package))
    root = corpora.folder()
    with tempfile.TemporaryDirectory() as home, without_device(root, Path(home)):
        __import__(package)
        for report in report_files(root, paths, workers):
            summary.add(report)
    return summary


def page(summaries: list[Summary]) -> str:
    """The Markdown of docs/agreement.md."""
    parts = [INTRODUCTION, f"Triton {triton.__version__}.", "", *_compiled(summaries), ""]
    parts += [*_claims(summaries), ""]
    parts += ["## Not built", "", *_kinds_of_failure(summaries), ""]
    for summary in summaries:
        parts += [f"### {summary.package}", "", *_reasons(summary.failed), ""]
    return "\n".join(parts)


def _compiled(summaries: list[Summary]) -> Iterator[str]:
    yield "| corpus | files | kernels built | not built | called by these | specializations |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for s in summaries:
        counts = (s.files, s.kernels, len(s.failed), s.called, s.specializations)
        yield f"| {s.package} {s.version} | {' | '.join(map(str, counts))} |"


def _claims(summaries: list[Summary]) -> Iterator[str]:
    yield "| corpus | of | aspect | values | known | equal | different | symbolic |"
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for s in summaries:
        for of, tally in (("kernels", s.tallies.kernels), ("functions", s.tallies.functions)):
            for aspect in ASPECTS:
                yield f"| {s.package} | {of} | {aspect} | {_counts(tally, aspect)} |"


def _counts(tally: Tally, aspect: str) -> str:
    wrong, symbolic = tally.verdicts[aspect, DIFFERENT], tally.verdicts[aspect, SYMBOLIC]
    right = tally.verdicts[aspect, EQUAL]
    equal = f"{tally.equal(aspect):.2%}" if right + wrong else "nothing claimed"
    shares = f"{tally.known(aspect):.1%} | {equal}"
    return f"{tally.count(aspect)} | {shares} | {wrong} | {symbolic}"


def _kind_of_failure(reason: str) -> str:
    return next((kind for kind, pattern in _FAILURES.items() if re.search(pattern, reason)), _GUESS)


def _kinds_of_failure(summaries: list[Summary]) -> Iterator[str]:
    yield f"| why | {' | '.join(s.package for s in summaries)} |"
    yield f"| --- | {' | '.join('---:' for _ in summaries)} |"
    counts = [Counter(_kind_of_failure(f.reason) for f in s.failed) for s in summaries]
    for kind in (*_FAILURES, _GUESS):
        yield f"| {kind} | {' | '.join(str(count[kind]) for count in counts)} |"


def _reasons(failed: list[NotCompiled]) -> Iterator[str]:
    yield "| kernels | why | the compiler says | for example |"
    yield "| ---: | --- | --- | --- |"
    first = {f.reason: f for f in sorted(failed, key=lambda f: (f.file, f.kernel), reverse=True)}
    counts = Counter(f.reason for f in failed)
    for reason, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        example = f"`{first[reason].file}` {_cell(first[reason].kernel)}"
        yield f"| {count} | {_kind_of_failure(reason)} | {_cell(reason)} | {example} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("packages", nargs="*", default=list(corpora.CORPORA))
    arguments.add_argument("--every", type=int, default=1, help="take every n-th file")
    arguments.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments.add_argument("--page", type=Path, default=PAGE)
    arguments.add_argument("--causes", type=Path, default=CAUSES)
    given = arguments.parse_args()
    summaries, everything = [], Tally()
    for package in given.packages or corpora.CORPORA:
        paths = corpora.kernel_files(package)[:: given.every]
        summaries.append(summarize(package, paths, given.workers))
        everything.add(summaries[-1].tallies.together())
    given.page.write_text(page(summaries))
    given.causes.parent.mkdir(parents=True, exist_ok=True)
    given.causes.write_text(causes(everything, corpora.folder()))


if __name__ == "__main__":
    main()
