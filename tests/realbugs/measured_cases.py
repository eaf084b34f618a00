"""What the slow cases cost on a GPU, as ``benchmarks/slow_spots`` has measured it."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict
from reported_cases import Case

FOLDER = Path(__file__).parents[2] / "benchmarks" / "slow_spots"
MEASURED = FOLDER / "h200.json"
CONTROL = FOLDER / "h200_control.json"
REVIEWED = FOLDER / "h200_reviews.json"
WORTH = 1.02
"""A ratio whose whole interval is beyond this is a loss; the reverse, a gain."""


class Effect(StrEnum):
    """What the reported form does to the time of its twin."""

    SLOWER = "slower"
    ALIKE = "not slower"
    FASTER = "faster"


class Ratio(BaseModel):
    """The time of the faulty version over that of its twin, with its 99.8 % interval."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float

    @property
    def effect(self) -> Effect:
        """Whether the interval lies on one side of what is worth a word."""
        if self.low > WORTH:
            return Effect.SLOWER
        return Effect.FASTER if self.high < 1 / WORTH else Effect.ALIKE

    def __str__(self) -> str:
        return times(self.value)


@dataclass(frozen=True)
class Measurement:
    """One case at one of its sizes: device time, and calls in a row by the wall clock."""

    name: str
    sizes: Mapping[str, int]
    device: Ratio
    in_a_row: Ratio | None


@dataclass(frozen=True)
class Measurements:
    """A file of results."""

    about: Mapping[str, str]
    rows: tuple[Measurement, ...]

    def of_case(self, name: str) -> tuple[Measurement, ...]:
        """The case at each of its sizes; none where it was not timed."""
        return tuple(row for row in self.rows if row.name == name)


def times(ratio: float) -> str:
    """A ratio for a table."""
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.2f}x"


def measurements(path: Path = MEASURED) -> Measurements:
    """What a file says; raises ValueError if it has a row that failed."""
    given = json.loads(path.read_text("utf-8"))
    failed = [row["name"] for row in given["rows"] if "failure" in row]
    if failed:
        raise ValueError(f"{path}: no times of {', '.join(failed)}")
    return Measurements(given["about"], tuple(_measurement(row) for row in given["rows"]))


def _measurement(row: Mapping[str, object]) -> Measurement:
    sizes, wall = row["sizes"], row.get("row_ratio")
    assert isinstance(sizes, dict)
    return Measurement(
        str(row["name"]), sizes, _ratio(row["ratio"]), None if wall is None else _ratio(wall)
    )


def _ratio(given: object) -> Ratio:
    assert isinstance(given, list)
    return Ratio(value=given[0], low=given[1], high=given[2])


@dataclass(frozen=True)
class Claim:
    """What was measured of the cases in which an issue is expected.

    ``slower`` counts sizes; ``cases`` those with at least one of them, of all that were timed.
    """

    issue: str
    timed: int
    cases: int
    sizes: int
    slower: int
    ratios: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of all sizes' ratios."""
        return statistics.median(self.ratios)


def claims(of: Iterable[Case], known: Iterable[str], found: Measurements) -> tuple[Claim, ...]:
    """A claim for each known issue that a timed case expects, by name."""
    cases, issues = list(of), set(known)
    expected = sorted({issue for case in cases for issue in case.entry.expects} & issues)
    made = (_claim(issue, cases, found) for issue in expected)
    return tuple(claim for claim in made if claim.timed)


def _claim(issue: str, cases: Sequence[Case], found: Measurements) -> Claim:
    timed = [found.of_case(case.name) for case in cases if issue in case.entry.expects]
    timed = [rows for rows in timed if rows]
    rows = [row for of_case in timed for row in of_case]
    return Claim(
        issue,
        len(timed),
        sum(any(row.device.effect is Effect.SLOWER for row in of_case) for of_case in timed),
        len(rows),
        sum(row.device.effect is Effect.SLOWER for row in rows),
        tuple(sorted(row.device.value for row in rows)),
    )


def shown(rows: Sequence[Measurement]) -> str:
    """The ratios of a case for a table, those that are no loss in italics."""
    texts = (
        str(row.device) if row.device.effect is Effect.SLOWER else f"*{row.device}*" for row in rows
    )
    return ", ".join(texts)
