"""Quick looks at many configurations of one kernel: compile all at once, time one by one.

A screening orders candidates and drops those whose results differ on one set of inputs. It verifies
nothing: whatever is to be kept goes through the cascade.
"""

from dataclasses import dataclass
from urllib.parse import quote

from tilewright.devices.model import JobStatus
from tilewright.evaluation.compile_step import unfit
from tilewright.evaluation.model import text_hash
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.targets.model import Target
from tilewright.targets.toolchains import NoToolchainError
from tilewright.worker.messages.jobs import Measured, MeasureJob
from tilewright.worker.messages.parts import Entries

BUDGET_S = 0.1
LEAST_S = 1e-3
# A few registers spilled outside the loop cost little, and here the clock decides.
TOLERATED_SPILL = 128


@dataclass(frozen=True)
class Screened:
    """A configuration's quick time in microseconds (median), or why it has none.

    ``differs``: it was run, and its results are others than those of the text it comes from.
    """

    candidate: str
    us: float | None
    message: str = ""
    differs: bool = False


@dataclass(frozen=True)
class Kept:
    """Results to compare with, as a ``measure`` job gives them; or why there are none."""

    results: Measured | None
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


def kept_results(bench: Workbench, own: str, case: Case) -> Kept:
    """What the text that others are configurations of gives on the inputs of a screening."""
    inputs = bench.inputs(case, 0)
    if inputs.status is not JobStatus.OK:
        return Kept(None, explain(inputs))
    out = bench.scratch / "screened" / text_hash(own) / quote(case.name, safe="")
    out.mkdir(parents=True, exist_ok=True)
    job = _job(bench, own, case, own, inputs.value["inputs"])
    job |= {"out": str(out), "budget_s": LEAST_S}
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return Kept(None, explain(outcome))
    return Kept(outcome.value)


def screen(bench: Workbench, text: str, case: Case, own: str, kept: Kept) -> Screened:
    """Compare one configuration's results and time it roughly, on the device's own lock.

    Args:
        own: the text that it is a configuration of. What launches that one's kernels, others find.
        kept: what ``own`` gives; what differs from it is not timed.
    """
    inputs = bench.inputs(case, 0)
    if inputs.status is not JobStatus.OK:
        return Screened(text_hash(text), None, explain(inputs))
    job = _job(bench, text, case, own, inputs.value["inputs"])
    if kept.results is not None:
        job["like"] = {**kept.results, "rtol": case.rtol, "atol": case.atol}
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return Screened(text_hash(text), None, explain(outcome))
    difference = outcome.value.get("difference")
    if difference:
        return Screened(text_hash(text), None, str(difference), differs=True)
    samples = sorted(outcome.value["us"])
    return Screened(text_hash(text), samples[len(samples) // 2])


def _job(bench: Workbench, text: str, case: Case, own: str, inputs: Entries) -> MeasureJob:
    job: MeasureJob = {
        "kind": "measure",
        "module": str(bench.place(text)),
        "entry": bench.entry,
        "inputs_from": bench.inputs_from,
        "case": dump(case),
        "inputs": inputs,
        "state": None,
        "device": bench.device.info.id,
        "budget_s": BUDGET_S,
        "gpu_lock": str(bench.scratch / f"{quote(bench.device.info.id, safe='')}.lock"),
    }
    if text == own:
        job["cache"] = bench.cache_of(own)
    else:
        job["caches"] = [bench.cache_of(own)]
    return job
