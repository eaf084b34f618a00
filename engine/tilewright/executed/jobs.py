"""Calls of a file in a worker, their answers kept on disk by the file's text."""

import json
from collections.abc import Sequence
from typing import cast

from tilewright.devices.model import Device, JobStatus
from tilewright.errors import TilewrightError
from tilewright.executed.functions import host_functions, space_for
from tilewright.executed.observations import Run
from tilewright.executed.search import Tried, tried
from tilewright.home import home
from tilewright.source.model import Module
from tilewright.targets.cache import ReportCache, content_key
from tilewright.worker.messages.drafted import (
    DraftedCall,
    DraftedJob,
    DraftedRun,
    DraftedRuns,
    RunError,
)

_CALL_S = 2.0
_START_S = 60.0


class NotImportedError(TilewrightError):
    """The file cannot be imported; ``error`` says where and why."""

    def __init__(self, error: RunError) -> None:
        super().__init__(f"it cannot be imported: {error['kind']}: {error['text']}")
        self.error = error


def all_tried(module: Module, path: str, device: Device) -> list[Tried]:
    """What became of each function of a file that launches kernels.

    Args:
        path: where the module's text lies, as it is imported.

    Raises:
        NotImportedError: importing the file fails.
    """
    run = runner(path, device)
    return [tried(space_for(module, function), run) for function in host_functions(module)]


def runner(path: str, device: Device) -> Run:
    """Runs calls of a file on a device; what ends the process is the outcome of one call alone."""
    cache = ReportCache(home() / "executed")
    info = device.info
    versions = f"{info.python} {info.torch} {info.triton}"

    def run(calls: Sequence[DraftedCall]) -> list[DraftedRun]:
        if not calls:
            return []
        key = content_key(path, ("drafted", json.dumps(list(calls), sort_keys=True), versions))
        kept = cache.get(key)
        if kept is not None:
            return _runs(cast("DraftedRuns", kept))
        job: DraftedJob = {
            "kind": "drafted", "device": info.id, "module": path, "calls": list(calls),
            "seconds": _CALL_S,
        }  # fmt: skip
        outcome = device.run(job, _START_S + _CALL_S * len(calls))
        if outcome.status is JobStatus.OK:
            cache.put(key, dict(outcome.value))
            return _runs(outcome.value)
        if len(calls) == 1:
            return [_ended(outcome.message)]
        return [one for call in calls for one in run([_alone(call)])]

    return run


def _alone(call: DraftedCall) -> DraftedCall:
    """A call that is compared with no other."""
    found = call.copy()
    found.pop("like", None)
    return found


def _runs(found: DraftedRuns) -> list[DraftedRun]:
    if found["failure"] is not None:
        raise NotImportedError(found["failure"])
    return found["runs"]


def _ended(message: str) -> DraftedRun:
    error: RunError = {
        "kind": "job", "text": message, "line": None, "host_line": None, "by": "host",
    }  # fmt: skip
    return {"error": error}
