"""Recorded reviews of the cases by a language model, and what running them showed.

``reviews/`` has the replies to the prompts of ``check --executed --model`` about wrong results,
``speed_reviews/`` those about lost time, one file a folder of cases: case, version, reply. Who
replied saw one prompt at a time, and never both versions of a case. ``reviewed.yaml`` and
``speed_reviewed.yaml`` are what running them showed (``tests/executed/reviewed_cases.py`` writes
them); ``judged.yaml`` and ``speed_judged.yaml`` what a reader made of it where the lines do not
decide.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from case_results import Share
from pydantic import BaseModel, ConfigDict
from reported_cases import FOLDER, Case, Folder, Kind, loaded

VERSIONS = ("faulty", "fixed")


class Shown(BaseModel):
    """What the review of one version showed.

    Attributes:
        ran: some call was compared with a reference, or ended with a fault.
        lines: that the model names of functions of which a run shows a fault.
        text: the first of these faults, or all places of lost time; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ran: bool
    lines: tuple[int, ...] = ()
    text: str = ""


class Judged(BaseModel):
    """A reader's verdict.

    Attributes:
        same: of a faulty version: whether what is named, on whatever line, is the fault of the
            case.
        twin: of a fixed version: "right" where it has the fault that is named, "debatable", or
            "wrong".
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    same: bool | None = None
    twin: str | None = None
    why: str


Runs = Mapping[tuple[str, str], Shown]
"""What running the replies showed, by case and version."""


@dataclass(frozen=True, eq=False)
class Reviewed:
    """The reviews of one kind of cases.

    Attributes:
        replies_at: the folder of the replies.
        runs_at, judged_at: files of what running them shows, and of verdicts.
        first_runs_at: files of what the first run of a blind set's replies showed; written once,
            never again.
    """

    kind: Kind
    replies_at: Path
    runs_at: Path
    judged_at: Path
    first_runs_at: Mapping[Folder, Path]

    @cached_property
    def replies(self) -> Mapping[tuple[str, str], str]:
        """The replies by case and version."""
        found: dict[tuple[str, str], str] = {}
        for file in sorted(self.replies_at.glob("*.yaml")):
            for name, versions in loaded(file).items():
                found |= {(name, version): reply for version, reply in versions.items()}
        return found

    @cached_property
    def runs(self) -> Runs:
        """What running them shows now."""
        return _runs(self.runs_at)

    @cached_property
    def first_runs(self) -> Mapping[Folder, Runs]:
        """What the first run of each blind set's replies showed."""
        return {folder: _runs(path) for folder, path in self.first_runs_at.items()}

    @cached_property
    def judgements(self) -> Mapping[tuple[str, str], Judged]:
        """The verdicts by case and version."""
        return {
            (name, version): Judged.model_validate(one)
            for name, versions in loaded(self.judged_at).items()
            for version, one in versions.items()
        }

    def is_found(self, case: Case, runs: Runs) -> bool:
        """Whether a review found what is wrong with a case: it names it, and a run shows it."""
        shown = runs.get((case.name, "faulty"))
        if shown is None:
            return False
        judged = self.judgements.get((case.name, "faulty"))
        if judged is not None and judged.same is not None:
            return bool(shown.lines) and judged.same
        return bool(case.lines & set(shown.lines))

    def shares(
        self, given: Iterable[Case], text: Mapping[str, bool], runs: Runs | None = None
    ) -> dict[str, Share]:
        """Of the cases that their file decides: reviewed, found by review, found by review or text;
        of twins: reports, and those that are wrong.

        Args:
            text: whether a case was found by its text alone.
            runs: by default those that are recorded.
        """
        given, runs = list(given), self.runs if runs is None else runs
        cases = [case for case in given if case.entry.kind is self.kind and case.is_decidable]
        known = [case for case in cases if (case.name, "faulty") in runs]
        either = sum(self.is_found(case, runs) or text.get(case.name, False) for case in cases)
        twins = [(c.name, runs[c.name, "fixed"]) for c in given if (c.name, "fixed") in runs]
        reported = [self.judgements.get((name, "fixed")) for name, shown in twins if shown.text]
        wrong = sum(one is None or one.twin != "right" for one in reported)
        return {
            "reviewed": Share(len(known), len(cases)),
            "found by review": Share(sum(self.is_found(one, runs) for one in known), len(known)),
            "found by text or review": Share(either, len(cases)),
            "reports on twins": Share(len(reported), len(twins)),
            "wrong reports on twins": Share(wrong, len(twins)),
        }


def _runs(path: Path) -> Runs:
    return {
        (name, version): Shown.model_validate(one)
        for name, versions in loaded(path).items()
        for version, one in versions.items()
    }


FAULTS = Reviewed(
    Kind.BUG,
    FOLDER / "reviews",
    FOLDER / "reviewed.yaml",
    FOLDER / "judged.yaml",
    {
        Folder.FOURTH_BLIND: FOLDER / "review_first_run4.yaml",
        Folder.FIFTH_BLIND: FOLDER / "review_first_run5.yaml",
    },
)
LOST_TIME = Reviewed(
    Kind.SLOW,
    FOLDER / "speed_reviews",
    FOLDER / "speed_reviewed.yaml",
    FOLDER / "speed_judged.yaml",
    {Folder.SIXTH_BLIND: FOLDER / "speed_review_first_run6.yaml"},
)
