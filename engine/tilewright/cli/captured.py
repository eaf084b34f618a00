"""Captured launches where commands ask for them: those that still fit, and a word on the others."""

from pathlib import Path

from tilewright.captures.folder import Captures
from tilewright.captures.model import Found
from tilewright.captures.problem import (
    launches_of_file,
    nothing_captured,
    problem_of_captured,
    project_captures,
    stale_note,
)
from tilewright.cli.inputs import read_source
from tilewright.cli.output import ERR
from tilewright.errors import InputError
from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import Problem


def found_in(captures: Captures, path: Path) -> Found:
    """Captured launches of a file; kernels edited since are named on standard error."""
    if not captures.concern(path):
        return Found()
    found = launches_of_file(path, read_source(path), captures)
    for kernel in found.stale:
        ERR.print(stale_note(path, kernel))
    return found


def problem_for(
    spec: Path | None, captured: Path | None, source: Path, text: str
) -> Problem | None:
    """The problem that was named, the source's own, or one made from captured launches.

    Raises:
        InputError: both were named, or the named folder has nothing of the file to run.
    """
    if captured is None:
        known = load_problem(spec, source) if spec else find_problem(source)
        folder = project_captures(source) if known is None else None
        if folder is None:
            return known
        near = problem_of_captured(source, text, folder)
        for note in near.notes if near.problem is None else ():
            ERR.print(note)
        return near.problem
    if spec is not None:
        raise InputError("--problem and --captured exclude each other")
    made = problem_of_captured(source, text, captured)
    if made.problem is None:
        raise nothing_captured(source, captured, made.notes)
    return made.problem
