"""Quick looks at many configurations of one kernel: compile all at once, time one by one.

A screening orders candidates; it verifies nothing. Whatever is to be kept goes through the cascade.
"""

from dataclasses import dataclass
from urllib.parse import quote

from tilewright.devices.model import JobStatus
from tilewright.evaluation.compiling import unfit
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.targets import NoToolchainError
from tilewright.targets.model import Target

BUDGET_S = 0.1
# A few registers spilled outside the loop cost little, and here the clock decides.
TOLERATED_SPILL = 128


@dataclass(frozen=True)
class Screened:
    """A configuration's quick time in microseconds (median), or why it has none."""

    candidate: str
    us: float | None
    message: str = ""


def prune(bench: Workbench, text: str, case: Case, target: Target) -> str | None:
    """Why the compiler rules a configuration out before any device sees it; None if it does not."""
    capture = bench.capture(text, case)
    if capture.failure is not None:
        return capture.failure
    try:
        reports = [bench.compile(text, launch, target) for launch in capture.launches]
    except NoToolchainError:
        return None
    return unfit(reports, TOLERATED_SPILL)


def screen(bench: Workbench, text: str, case: Case, own: str) -> Screened:
    """Time one configuration roughly, on the device's own lock.

    ``own``: the text that it is a configuration of. What launches that one's kernels, others find.
    """
    inputs = bench.inputs(case, 0)
    if inputs.status is not JobStatus.OK:
        return Screened(text_hash(text), None, explain(inputs))
    job = bench.job("measure", text) | {
        "case": dump(case),
        "inputs": inputs.value["inputs"],
        "state": None,
        "device": bench.device.info.id,
        "budget_s": BUDGET_S,
        "gpu_lock": str(bench.scratch / f"{quote(bench.device.info.id, safe='')}.lock"),
        **({"cache": bench.cache_of(own)} if text == own else {"caches": [bench.cache_of(own)]}),
    }
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return Screened(text_hash(text), None, explain(outcome))
    samples = sorted(outcome.value["us"])
    return Screened(text_hash(text), samples[len(samples) // 2])
