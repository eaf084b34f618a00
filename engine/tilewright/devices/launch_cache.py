"""Launches found by running a file, kept on disk: the same text makes the same launches again.

Host code that reads anything but what it imports, its inputs and Triton's variables is taken to
find it as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus, Value
from tilewright.home import home
from tilewright.targets.cache import ReportCache
from tilewright.targets.keys import content_key
from tilewright.worker.messages.envelope import Job

_MOST = 2048


def recorded(
    job: Job[Value], info: DeviceInfo, run: Callable[[], JobOutcome[Value]]
) -> JobOutcome[Value]:
    """The outcome of a job that finds launches; what failed is tried again each time."""
    try:
        key = _key(job, info)
    except OSError:  # the worker says what is wrong with the file
        return run()
    cache = ReportCache(home() / "launches", _MOST)
    found = cache.get(key)
    if found is not None:
        return JobOutcome(JobStatus.OK, found["value"], output=found["output"])
    outcome = run()
    if outcome.status is JobStatus.OK:
        value: Any = outcome.value
        kept = {"value": value, "output": outcome.output, "depends": value.get("depends")}
        cache.put(key, kept)
    return outcome


def _key(job: Job[Any], info: DeviceInfo) -> str:
    asked = {name: part for name, part in job.items() if name != "module"}
    variables = {n: v for n, v in os.environ.items() if n.startswith("TRITON_")}
    parts = (asked, variables, (info.torch, info.triton, info.python))
    return content_key(str(job.get("module")), [json.dumps(part, sort_keys=True) for part in parts])
