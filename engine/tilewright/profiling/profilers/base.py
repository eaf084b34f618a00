"""What every profiler is asked, and what it answers."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.profiling.model import Counters
from tilewright.worker.messages.jobs import Counted, Tool

Row = Mapping[str, str]


@dataclass(frozen=True)
class Reading:
    """Counters by kernel; what could not be read, and why, in ``notes``."""

    kernels: Mapping[str, Counters] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Profiler(Protocol):
    """A tool that starts a program on a device's host and tells its counters.

    Attributes:
        name: of its program.
        backends: of the devices it knows: "cuda", "hip", "xpu".
        untried: why it is untested; empty if it was run on a device.
    """

    name: str
    backends: frozenset[str]
    untried: str

    def tool(self) -> Tool:
        """What a ``counters`` job is given: programs, arguments, files to give back, marks."""
        ...

    def read(self, value: Counted) -> Reading:
        """The counters in what such a job answered. Never raises: what it cannot read, it notes."""
        ...


def rows_of(text: str, first: str) -> Iterator[Row]:
    """The rows of a table in comma-separated values that begins with the column ``first``.

    The text before the table (the tool's own remarks) is skipped.
    """
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.lstrip("\ufeff").startswith((f'"{first}"', f"{first},")):
            yield from csv.DictReader(line.lstrip("\ufeff") for line in lines[at:])
            return


def number(text: str | None) -> float | None:
    """A number as a tool writes it: with thousands marked, or none at all."""
    if text is None:
        return None
    try:
        value = float(text.replace(",", "").strip())
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def failure(name: str, value: Counted) -> str | None:
    """Why a job has no counters although its tool ran; None if it has them for all one knows."""
    code = value.get("code")
    if not code:
        return None
    lines = [*_output_lines(value.get("stdout") or ""), *_output_lines(value.get("stderr") or "")]
    errors = [line for line in lines if "error" in line.lower()] or lines[-1:]
    said = errors[0][:300] if errors else "it said nothing"
    return f"{name} ended with code {code}: {said}"


def _output_lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
