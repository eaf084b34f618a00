"""The two sides of ``tilewright compile --compare``: variants, or versions of the file."""

import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.cli.compile_options import variant
from tilewright.cli.inputs import read_source
from tilewright.errors import InputError
from tilewright.evaluation.syntax import require_python
from tilewright.inspection.variants import Judged, Launches, Variant, compiled
from tilewright.source import parse_module
from tilewright.targets.model import STAGES, CompileReport

Pair = tuple[CompileReport, CompileReport]
_GIT_SECONDS = 30


@dataclass(frozen=True)
class Side:
    """One of two things to compare.

    Attributes:
        title: as it was written.
        text: of another version of the file; None for the file as it is.
    """

    title: str
    variant: Variant
    text: str | None = None

    def reports(self, launches: Launches) -> Judged[CompileReport]:
        """What the compiler makes of this side; of a version, as its own host code launches it."""
        if self.text is None:
            return compiled(launches, self.variant)
        return compiled(_of_version(launches, self.text), self.variant)


def side_of(written: str, path: Path, target: str | None, options: str) -> Side:
    """A side as written: ``TARGET[,OPTION=VALUE]``, a file, or a git revision of ``path``.

    Raises:
        InputError: it is none of these, or a version without ``--target`` or that does not parse.
    """
    backend = written.partition(":")[0]
    if backend in STAGES:
        one = variant(written, options)
        return Side(str(one), one)
    text = read_source(Path(written)) if written.endswith(".py") else _revision(written, path)
    if target is None:
        raise InputError(f"{written} is a version of the file: for which chip? give --target")
    require_python(parse_module(text, written))
    return Side(written, variant(target, options), text)


def _revision(revision: str, path: Path) -> str:
    command = ["git", "show", f"{revision}:./{path.name}"]
    if revision.startswith("-"):
        raise InputError(_unknown(revision))
    try:
        done = subprocess.run(
            command, cwd=path.resolve().parent, capture_output=True, text=True,
            timeout=_GIT_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        raise InputError(f"{_unknown(revision)}; git could not be run: {error}") from error
    if done.returncode != 0:
        told = done.stderr.strip().partition("\n")[0]
        raise InputError(f"{_unknown(revision)}; git says: {told}", str(path))
    return done.stdout


def _unknown(written: str) -> str:
    return (
        f"--compare {written}: write a target (cuda:90,num_warps=8), a file (old.py) or a git "
        "revision (HEAD~1)"
    )


def _of_version(launches: Launches, text: str) -> Launches:
    """The launches of another text: its own, where a spec says how to call it, else the same."""
    bench = launches.compilers.bench
    version = replace(launches.compilers, text=text)
    cases = bench.problem.compiled_cases()
    if not cases:
        known = {kernel.name for kernel in parse_module(text, str(bench.source_path)).kernels}
        same = tuple(one for one in launches.launches if one.kernel in known)
        return replace(launches, compilers=version, launches=same)
    capture = bench.capture(text, cases[0])
    if capture.failure is not None:
        raise InputError(f"the other version's entry point fails: {capture.failure}")
    wanted = {one.kernel for one in launches.launches}
    own = tuple(one for one in capture.launches if one.kernel in wanted)
    return replace(launches, compilers=version, launches=own)


def pairs(first: Sequence[CompileReport], second: Sequence[CompileReport]) -> Iterator[Pair]:
    """Reports of the same kernel, in order; what one side alone launches is left out."""
    waiting: dict[str, list[CompileReport]] = defaultdict(list)
    for report in second:
        waiting[report.kernel].append(report)
    for report in first:
        if waiting[report.kernel]:
            yield report, waiting[report.kernel].pop(0)


def unpaired(first: Sequence[CompileReport], second: Sequence[CompileReport]) -> list[str]:
    """Kernels that one side launches more often than the other."""
    names = dict.fromkeys(report.kernel for report in (*first, *second))

    def count(side: Sequence[CompileReport], name: str) -> int:
        return sum(report.kernel == name for report in side)

    return [name for name in names if count(first, name) != count(second, name)]
