"""Which Triton cache a job gets: none that it may write is read by another version's job.

Trials are left to the device's judge, which gives each candidate a cache of its own.
"""

from tilewright.worker.messages.envelope import Job, Value
from tilewright.worker.sandbox.triton_cache import EMPTY, LAUNCHERS, LINKED

_CACHES = {"run": LINKED, "measure": LAUNCHERS, "profile": LINKED, "counters": LINKED}


def with_own_cache(job: Job[Value]) -> Job[Value]:
    """The job, and a cache of its own where it names none.

    What launches on a device finds there what others have compiled; a quick look, whose kernel is
    new, what launches it; what uses no device starts empty: linking thousands of files takes time.
    """
    if "cache" in job or job.get("kind") == "trial":
        return job
    on_device = job.get("device", "interpreter") != "interpreter"
    return {**job, "cache": _CACHES.get(str(job.get("kind")), EMPTY) if on_device else EMPTY}
