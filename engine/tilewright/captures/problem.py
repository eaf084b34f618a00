"""A problem for kernels that have launches and no spec."""

from pathlib import Path

from tilewright.problems.model import Entry, EntryKind, Problem
from tilewright.source.text import digest


def problem_of_captured(folder: Path, kernel: str) -> Problem:
    """A problem without cases: its launches can be compiled, and nothing of it can be run."""
    texts = "".join(p.read_text(encoding="utf-8") for p in sorted(folder.glob("*.json")))
    entry = Entry(EntryKind.FUNCTION, kernel)
    return Problem(str(folder), digest(texts), entry, None, {}, "captured")
