"""A problem made from captured launches: what a kernel without a spec is run on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.captures.cases import NotReplayable, case_of, programs
from tilewright.captures.folder import Captures, load_captures
from tilewright.captures.model import FOLDER, CapturedKernel, CapturedLaunch, CaptureError, Found
from tilewright.problems.dtypes import size_bytes
from tilewright.problems.model import (
    CAPTURED,
    SMALL_CAPTURED,
    Case,
    Entry,
    EntryKind,
    Problem,
)
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.text import digest
from tilewright.targets.model import Target
from tilewright.textfile import in_roots

# What the interpreter gets through in seconds: it runs programs one after another.
MOST_PROGRAMS = 1024
MOST_BYTES = 16 << 20
_MOST_TIMED = 2
_MOST_SMALL = 2


@dataclass(frozen=True)
class CapturedProblem:
    """The problem of a file's captured launches, or None where none can be made again.

    Attributes:
        notes: where it comes from, and what of the folder is not used and why.
    """

    problem: Problem | None
    found: Found
    notes: tuple[str, ...] = field(default=())


def project_captures(source: Path) -> Path | None:
    """The nearest ``.tilewright/launches`` above a source file; None if there is none."""
    for folder in source.resolve().parents:
        if in_roots(folder) and (folder / FOLDER).is_dir():
            return folder / FOLDER
    return None


def captured_on(source: Path) -> tuple[Target, ...]:
    """The chips that a file's captured launches were compiled for, each once.

    Raises:
        CaptureError: a folder that cannot be read.
    """
    folder = project_captures(source)
    if folder is None:
        return ()
    here = str(source.resolve())
    kernels = (kernel for kernel in load_captures(folder).kernels if kernel.file == here)
    found = (launch.target for kernel in kernels for launch in kernel.launches)
    return tuple(dict.fromkeys(target for target in found if target is not None))


def problem_of_captured(source: Path, text: str, folder: Path) -> CapturedProblem:
    """What ``folder`` holds of a file's kernels, as a problem.

    Raises:
        CaptureError: no such folder, or one that cannot be read.
    """
    captures = load_captures(folder)
    found = captures.launches_of(parse_module(text, str(source)), source)
    notes = [stale_note(source, kernel) for kernel in found.stale]
    timed: list[Case] = []
    small: list[Case] = []
    for kernel in found.fitting:
        cases = list(_cases(kernel, notes))
        usable = _usable(kernel)
        timed += sorted(cases, key=lambda case: -usable[case.index].weight)[:_MOST_TIMED]
        fitting = [case for case in cases if _is_small(case)]
        small += sorted(fitting, key=_size)[:_MOST_SMALL]
        if cases and not fitting:
            notes.append(_too_large(kernel, min(cases, key=_size)))
    if not timed:
        return CapturedProblem(None, found, tuple(notes))
    return CapturedProblem(_problem(folder, text, timed, small, notes), found, tuple(notes))


def launches_of_file(source: Path, text: str, captures: Captures) -> Found:
    """What is captured of a file's kernels as they are in ``text``; for the editor."""
    if not captures.concern(source):
        return Found()
    return captures.launches_of(parse_module(text, str(source)), source)


def stale_note(source: Path, kernel: CapturedKernel) -> str:
    """Why a kernel's captured launches are not used."""
    return (
        f"{source}: the captured launches of {kernel.kernel} are stale and not used: the kernel "
        "was edited since; capture again"
    )


def _problem(
    folder: Path, text: str, timed: list[Case], small: list[Case], notes: list[str]
) -> Problem:
    cases = {CAPTURED: tuple(timed)} | ({SMALL_CAPTURED: tuple(small)} if small else {})
    kernels = list(dict.fromkeys(c.launch.kernel for c in timed if c.launch))
    count = len({case.name for case in (*timed, *small)})
    notes.insert(
        0,
        f"run on {count} captured launches of {', '.join(kernels)} from {folder}, with inputs made "
        "like those recorded; correct means: as the original computes",
    )
    content = json.dumps([dump(case) for case in (*timed, *small)], sort_keys=True)
    return Problem(
        path=str(folder),
        content_hash=digest(content),
        entry=Entry(EntryKind.LAUNCH, ", ".join(kernels)),
        reference=None,
        cases=cases,
        default_category=CAPTURED,
        warnings=tuple(notes),
        text=text,
    )


def _cases(kernel: CapturedKernel, notes: list[str]) -> Iterator[Case]:
    """Each launch that can be made again, the most frequent first."""
    reasons: dict[str, int] = {}
    for index, launch in enumerate(_usable(kernel)):
        try:
            yield case_of(launch, index)
        except NotReplayable as error:
            reasons[str(error)] = reasons.get(str(error), 0) + 1
    for reason, count in reasons.items():
        notes.append(f"{count} captured launches of {kernel.kernel} cannot be made again: {reason}")
    notes += _failed(kernel)


def _failed(kernel: CapturedKernel) -> Iterator[str]:
    """A word on a kernel of which every launch failed."""
    failures = [launch.failure for launch in kernel.launches if launch.failure is not None]
    if failures and len(failures) == len(kernel.launches):
        yield (
            f"every captured launch of {kernel.kernel} had failed when it was recorded: "
            f"{' '.join(failures[0].split())[:200]}"
        )


def _usable(kernel: CapturedKernel) -> list[CapturedLaunch]:
    """The launches that did not fail, the most frequent first."""
    ended = (launch for launch in kernel.launches if launch.failure is None)
    return sorted(ended, key=lambda launch: -launch.count)


def _size(case: Case) -> tuple[int, int]:
    return programs(case), size_bytes(case)


def _is_small(case: Case) -> bool:
    return programs(case) <= MOST_PROGRAMS and size_bytes(case) <= MOST_BYTES


def _too_large(kernel: CapturedKernel, case: Case) -> str:
    return (
        f"no captured launch of {kernel.kernel} is small enough for the interpreter: the smallest "
        f"has {programs(case)} programs on {size_bytes(case) >> 10} KiB, {MOST_PROGRAMS} on "
        f"{MOST_BYTES >> 10} KiB are the most; capture one of smaller shapes"
    )


def nothing_captured(source: Path, folder: Path, notes: tuple[str, ...]) -> CaptureError:
    """Says that a folder that was named holds nothing to run."""
    why = "; ".join(notes) or "nothing was captured of it as it is now"
    return CaptureError(f"{folder} has no launch of it that can be made again: {why}", str(source))
