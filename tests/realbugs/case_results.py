"""What the detectors say of each reported case and of its fixed twin."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict
from reported_cases import FOLDER, Case, Folder, Half, Kind, cases, loaded

from tilewright.analysis import AnalysisContext, Issue, analyze
from tilewright.knowledge.base import taxonomy
from tilewright.source import parse_module
from tilewright.targets.model import Target

# What `tilewright check --target cuda:90 --triton 3.6` takes for known.
CONTEXT = AnalysisContext(Target("cuda", "90"), (3, 6))
RECORD = FOLDER / "results.yaml"
FIRST_SIGHT = {
    Folder.FIRST_BLIND: FOLDER / "first_sight.yaml",
    Folder.SECOND_BLIND: FOLDER / "first_sight2.yaml",
    Folder.THIRD_BLIND: FOLDER / "first_sight3.yaml",
    Folder.FOURTH_BLIND: FOLDER / "first_sight4.yaml",
    Folder.FIFTH_BLIND: FOLDER / "first_sight5.yaml",
    Folder.SIXTH_BLIND: FOLDER / "first_sight6.yaml",
}


@dataclass(frozen=True)
class Result:
    """Whether a case was found, and what was reported of its twin although that is right."""

    case: Case
    found: bool
    false_alarms: tuple[str, ...]


def results() -> tuple[Result, ...]:
    """The result of every case."""
    return tuple(result_of(case) for case in cases())


def result_of(case: Case) -> Result:
    """Analyze both versions of a case.

    The fault is found where an expected issue is reported on one of its lines, and not at all in
    the twin. A false alarm is any report about correctness in the twin.
    """
    faulty, fixed = _issues(case.faulty), _issues(case.fixed)
    expected = set(case.entry.expects)
    at_place = any(i.id in expected and case.lines & _lines(i) for i in faulty)
    in_twin = any(i.id in expected for i in fixed)
    alarms = tuple(i.id for i in fixed if taxonomy()[i.id].is_fault)
    return Result(case, at_place and not in_twin, alarms)


def _issues(text: str) -> tuple[Issue, ...]:
    return analyze(parse_module(text), CONTEXT)


def _lines(issue: Issue) -> set[int]:
    return set(range(issue.range.line, issue.range.end_line + 1))


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    part: int
    whole: int

    @property
    def percent(self) -> float:
        """In percent; 0 of nothing."""
        return 100 * self.part / self.whole if self.whole else 0.0

    def __str__(self) -> str:
        return f"{self.part} of {self.whole} ({self.percent:.1f} %)"


def share_found(of: Iterable[Result], kind: Kind, half: Half | None = None) -> Share:
    """The cases found of those that the file decides."""
    counted = [
        r
        for r in of
        if r.case.entry.kind is kind and r.case.is_decidable and half in (None, r.case.half)
    ]
    return Share(sum(r.found for r in counted), len(counted))


def share_of_alarms(of: Iterable[Result]) -> Share:
    """The twins that were reported as wrong."""
    counted = list(of)
    return Share(sum(bool(r.false_alarms) for r in counted), len(counted))


def recorded(path: Path = RECORD) -> Mapping[str, bool]:
    """Whether each case was found when the record was written."""
    given: Mapping[str, bool] = loaded(path)
    return given


class FirstSight(BaseModel):
    """What the detectors said of a blind set before anything of it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    found: Mapping[str, bool]
    # The issues reported in twins, of which no record was kept for the first set.
    false_alarms: Mapping[str, tuple[str, ...]] | None = None


def first_sight(folder: Folder) -> FirstSight:
    """The record of a blind set."""
    return FirstSight.model_validate(loaded(FIRST_SIGHT[folder]))


def share_at_first_sight(of: Iterable[Result], kind: Kind, folder: Folder) -> Share:
    """The blind cases that the detectors found before anything of that set was read."""
    found = first_sight(folder).found
    names = [
        r.case.name
        for r in of
        if r.case.entry.kind is kind and r.case.is_decidable and r.case.folder is folder
    ]
    return Share(sum(found[name] for name in names), len(names))


def alarms_at_first_sight(of: Iterable[Result], folder: Folder) -> Share:
    """The twins that were reported as wrong before anything of that set was read."""
    names = [r.case.name for r in of if r.case.folder is folder]
    alarms = first_sight(folder).false_alarms or {}
    return Share(sum(bool(alarms.get(name)) for name in names), len(names))


def write_record(of: Iterable[Result], path: Path = RECORD) -> None:
    """Record which cases are found."""
    path.write_text(yaml.safe_dump({r.case.name: r.found for r in of}, sort_keys=True))
