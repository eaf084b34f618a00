"""``drafted``: calls of a file's functions on drafted inputs, in the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..drafted import errors
from ..drafted.runs import Runs
from ..loading import entry_point, partial_import
from ..trials.version import INTERPRETER, surroundings

if TYPE_CHECKING:
    from ..messages.drafted import DraftedJob, DraftedRuns


def perform(job: DraftedJob) -> DraftedRuns:
    """-> a run a call, or why the file cannot be imported."""
    with surroundings(INTERPRETER, job["module"]):
        try:
            module = entry_point.load_module(job["module"])
        except partial_import.FAILURES as error:
            return {"runs": [], "failure": errors.error_of(error, job["module"])}
        runs = Runs(module, job["module"], job["seconds"], job["written"])
        return {"runs": [runs.run(call) for call in job["calls"]], "failure": None}
