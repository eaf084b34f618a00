"""Recorded reviews of the cases by a language model, and what running them showed.

``reviews/`` has the replies to the prompts of ``check --executed --model``, one file a folder of
cases: case, version, reply. Who replied saw one prompt at a time, and never both versions of a
case. ``reviewed.yaml`` is what running them showed (``tests/executed/reviewed_cases.py`` writes
it); ``judged.yaml`` what a reader made of it where the lines do not decide.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from case_results import Share
from pydantic import BaseModel, ConfigDict
from reported_cases import FOLDER, Case, Folder, Kind, loaded

REPLIES = FOLDER / "reviews"
RECORD = FOLDER / "reviewed.yaml"
JUDGED = FOLDER / "judged.yaml"
FIRST_RUN = {
    Folder.FOURTH_BLIND: FOLDER / "review_first_run4.yaml",
    Folder.FIFTH_BLIND: FOLDER / "review_first_run5.yaml",
}
VERSIONS = ("faulty", "fixed")


class Shown(BaseModel):
    """What the review of one version showed.

    Attributes:
        ran: some call was compared with a reference, or ended with a fault.
        lines: that the model names of functions of which a run shows a fault.
        text: the first of these faults; empty for none.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ran: bool
    lines: tuple[int, ...] = ()
    text: str = ""


class Judged(BaseModel):
    """A reader's verdict.

    Attributes:
        same: of a faulty version: whether what is named on another line is the fault of the case.
        twin: of a fixed version: "right" where it has the fault that is named, or "wrong".
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    same: bool | None = None
    twin: str | None = None
    why: str


@cache
def replies(path: Path = REPLIES) -> Mapping[tuple[str, str], str]:
    """The replies by case and version."""
    found: dict[tuple[str, str], str] = {}
    for file in sorted(path.glob("*.yaml")):
        for name, versions in loaded(file).items():
            found |= {(name, version): reply for version, reply in versions.items()}
    return found


@cache
def recorded_reviews(path: Path = RECORD) -> Mapping[tuple[str, str], Shown]:
    """What running them showed, by case and version."""
    return {
        (name, version): Shown.model_validate(one)
        for name, versions in loaded(path).items()
        for version, one in versions.items()
    }


@cache
def judgements(path: Path = JUDGED) -> Mapping[tuple[str, str], Judged]:
    """The verdicts by case and version."""
    return {
        (name, version): Judged.model_validate(one)
        for name, versions in loaded(path).items()
        for version, one in versions.items()
    }


@cache
def first_run(folder: Folder) -> Mapping[tuple[str, str], Shown]:
    """What the first run of a blind set's replies showed; written once, never again."""
    return recorded_reviews(FIRST_RUN[folder])


def is_found(case: Case, runs: Mapping[tuple[str, str], Shown]) -> bool:
    """Whether a review found a case's fault: it names it, and a run shows it."""
    shown = runs.get((case.name, "faulty"))
    if shown is None:
        return False
    judged = judgements().get((case.name, "faulty"))
    if judged is not None and judged.same is not None:
        return bool(shown.lines) and judged.same
    return bool(case.lines & set(shown.lines))


def shares(
    given: Iterable[Case],
    text: Mapping[str, bool],
    runs: Mapping[tuple[str, str], Shown] | None = None,
) -> dict[str, Share]:
    """Of the wrong results that their file decides: reviewed, found by review, found by review or
    text; of twins: reports, and those that are wrong.

    Args:
        text: whether a case was found by its text alone.
        runs: by default those that are recorded.
    """
    given, runs = list(given), recorded_reviews() if runs is None else runs
    bugs = [case for case in given if case.entry.kind is Kind.BUG and case.is_decidable]
    known = [case for case in bugs if (case.name, "faulty") in runs]
    either = sum(is_found(case, runs) or text.get(case.name, False) for case in bugs)
    twins = [(c.name, runs[c.name, "fixed"]) for c in given if (c.name, "fixed") in runs]
    reported = [judgements().get((name, "fixed")) for name, shown in twins if shown.text]
    wrong = sum(one is None or one.twin != "right" for one in reported)
    return {
        "reviewed": Share(len(known), len(bugs)),
        "found by review": Share(sum(is_found(case, runs) for case in known), len(known)),
        "found by text or review": Share(either, len(bugs)),
        "reports on twins": Share(len(reported), len(twins)),
        "wrong reports on twins": Share(wrong, len(twins)),
    }
