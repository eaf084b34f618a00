"""What a module of evidence hands back: findings, each with its control, and what shows them.

A module ``claim_NAME.py`` has a function ``evidence(size)``; ``size`` is "whole" or "small", which
takes seconds and is what tests run. Its constant ``STORED`` is True where the whole form takes so
long that ``make search-evidence`` prints the stored results and ``--anew NAME`` measures them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """A claim, the number that was asked of it, and the number that was found.

    Attributes:
        claim: one sentence that says what is true if the number is reached.
        landscape: on what it was searched.
        asked: the number in words: "a paired gain of at least 0.25 at 160 evaluations".
        found: likewise.
        low, high: the interval of the number found; None where it has none.
        control: what was done to show that the harness can tell, and what it gave.
        reached: None where it could not be measured; ``found`` then says why.
    """

    claim: str
    landscape: str
    asked: str
    found: str
    low: float | None
    high: float | None
    control: str
    reached: bool | None

    @property
    def verdict(self) -> str:
        """In words for the page."""
        return {True: "reached", False: "**not reached**", None: "not measured"}[self.reached]


@dataclass(frozen=True)
class Curve:
    """A line over x; ``low`` and ``high`` bound a band around it, where they are given."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One coordinate system; ``steps`` draws lines that hold their value until the next point."""

    title: str
    curves: tuple[Curve, ...]
    steps: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture of panels next to each other, with one legend; ``name`` is its file's stem."""

    name: str
    title: str
    x_label: str
    y_label: str
    panels: tuple[Panel, ...]
    top: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of cells under a head."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Evidence:
    """All that a module found, and sentences on it.

    Attributes:
        title: heading of its section.
        machine: where it was measured, with a date, if not by the command that writes the page.
    """

    title: str
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = field(default=())
    machine: str = ""


def quartiles(runs: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    """Lower quartile, median and upper quartile of several runs at each place."""
    columns = [sorted(column) for column in zip(*runs, strict=True)]
    return tuple(tuple(_quantile(one, share) for one in columns) for share in (0.25, 0.5, 0.75))


def _quantile(ordered: Sequence[float], share: float) -> float:
    at = share * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (at - below) * (ordered[above] - ordered[below])


def median(values: Sequence[float]) -> float:
    """The middle one; of an even number the mean of the two in the middle."""
    return _quantile(sorted(values), 0.5)
