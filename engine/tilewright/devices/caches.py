"""Which Triton cache a job gets: none that it may write is read by another version's job.

Trials are left to the device's judge, which gives each candidate a cache of its own.
"""

from collections.abc import Mapping
from typing import Any

from tilewright.worker.own_cache import EMPTY, LINKED

_LAUNCHING = {"run", "measure", "profile", "counters"}


def with_own_cache(job: Mapping[str, Any]) -> Mapping[str, Any]:
    """The job, and a cache of its own where it names none.

    What launches on a device finds there what others have compiled; what does not starts empty,
    as linking thousands of files takes time.
    """
    if "cache" in job or job.get("kind") == "trial":
        return job
    launches = job.get("kind") in _LAUNCHING and job.get("device", "interpreter") != "interpreter"
    return {**job, "cache": LINKED if launches else EMPTY}
