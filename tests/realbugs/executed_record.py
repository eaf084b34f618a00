"""What running the wrong results among the cases showed, as it was recorded."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from case_results import Share
from pydantic import BaseModel, ConfigDict
from reported_cases import FOLDER, Case, Folder, loaded

RECORD = FOLDER / "executed.yaml"
RUN_BLIND = Folder.THIRD_BLIND
"""The last blind set that was run before anything of it was read; the one after it was not run."""
# What that showed; written once, never again.
FIRST_SIGHT = FOLDER / "executed_first_sight3.yaml"


class Executed(BaseModel):
    """What running a case showed.

    Attributes:
        ran: some call of the faulty version launched a kernel, or importing it fails.
        found: an issue on the lines of the fault, an expected one, or one of the whole kernel
            (a result that differs, an element that is not written) that the twin does not have.
        reported: the issues of the faulty version with their lines.
        alarms: the issues of the twin with their lines.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ran: bool
    found: bool
    reported: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()


@cache
def recorded_runs(path: Path = RECORD) -> Mapping[str, Executed]:
    """The record of the last run, by the name of the case."""
    return {name: Executed.model_validate(one) for name, one in loaded(path).items()}


def shares(
    runs: Mapping[str, Executed], given: Iterable[Case], text: Mapping[str, bool]
) -> dict[str, Share]:
    """The shares of some cases: run, found by running, found by text or by running, alarms.

    Args:
        text: whether a case was found by its text alone.
    """
    known = [(c, runs[c.name]) for c in given if c.name in runs]
    ran = [(c, one) for c, one in known if one.ran]
    either = sum(one.found or text.get(c.name, False) for c, one in known)
    return {
        "run": Share(len(ran), len(known)),
        "found of those run": Share(sum(one.found for _, one in ran), len(ran)),
        "found by text or run": Share(either, len(known)),
        "alarms on twins": Share(sum(bool(one.alarms) for _, one in known), len(known)),
    }
