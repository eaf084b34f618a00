"""The fifth step: is it faster, on a device that can tell?"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tilewright.devices.model import DeviceInfo, JobStatus
from tilewright.devices.package import worker_hash, write_atomically
from tilewright.evaluation.correctness import cases_for
from tilewright.evaluation.model import Cause, Speedup, StepName, StepResult, StepStatus, text_hash
from tilewright.evaluation.physics import SHARE, least_time
from tilewright.evaluation.replaying import concerned
from tilewright.evaluation.statistics import Ratio, ratio_of
from tilewright.evaluation.trial_client import Heard, Timing
from tilewright.evaluation.workbench import Workbench
from tilewright.figures import detectable
from tilewright.home import home
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.worker.messages.trial import Contest
from tilewright.worker.timing.stopping_rule import CONFIDENCE

BUDGET_S = 3.0
MAX_AGE = timedelta(days=14)
"""After this a floor is measured again: machines gain tenants, heat and drivers."""


@dataclass(frozen=True)
class Timed:
    """The speed step and the ratio it found; the slowest ratio where several cases are timed."""

    step: StepResult
    speedup: Speedup | None = None


def planned_timing(bench: Workbench, baseline: str, candidate: str) -> Timing | None:
    """What to time a candidate on; None on a device that cannot."""
    if not bench.device.info.can_time:
        return None
    cases = bench.problem.measured_cases() or cases_for(bench)
    cases = concerned(bench.problem, str(bench.source_path), baseline, candidate, cases)
    return Timing(baseline, cases, BUDGET_S, NoiseFloors(bench.device.info).known())


def speed_step(bench: Workbench, timing: Timing, heard: Heard) -> Timed:
    """The speed step for the coordinator's contests; the worst ratio of all cases counts."""
    info, found = bench.device.info, heard.data.get("timing") or ()
    if not found:
        return _failed("it was not timed, though its results are right")
    floors = NoiseFloors(info)
    for one in found:
        if one.get("survey"):
            floors.keep(one["survey"])
    baseline = text_hash(timing.baseline)
    pairs = zip(found, timing.cases, strict=True)
    return worst_of([judged(one, case, info, baseline, bench.seed) for one, case in pairs])


def not_measured(info: DeviceInfo) -> Timed:
    """The step on a device that cannot time."""
    message = f"not measured: {info.name} cannot time a kernel"
    return Timed(StepResult(StepName.SPEED, StepStatus.SKIPPED, message))


def worst_of(timed: list[Timed]) -> Timed:
    """One step for all cases: the first that failed to give a ratio, else the lowest ratio."""
    broken = next((one for one in timed if one.speedup is None), None)
    if broken is not None:
        return broken
    worst = min(timed, key=lambda one: one.speedup.low if one.speedup else 0.0)
    notes = dict.fromkeys(note for one in timed for note in one.step.data.get("notes", ()))
    data = {"cases": [one.step.data for one in timed], "notes": list(notes)}
    step = worst.step
    return Timed(StepResult(step.step, step.status, step.message, data=data), worst.speedup)


def judged(timing: Contest, case: Case, info: DeviceInfo, baseline: str, seed: int) -> Timed:
    """The step and the ratio that one contest amounts to (``worker.timing.conducting.conduct``).

    ``baseline``: hash of the original. Times whose clocks disagree, whose outputs were wrong, or
    that no such chip could reach, are no evidence and give no ratio.
    """
    if failed := timing.get("failed"):
        return Timed(_untimed(failed, case))
    refused = _refusal(timing, case, info)
    if refused is not None:
        return _failed(refused)
    try:
        ratio = ratio_of([(first, second) for first, second in timing["blocks"]], seed)
    except ValueError as error:
        return _failed(f"timing gave no interval: {error}")
    speedup = _speedup(ratio, timing, case, info, baseline)
    data = {**dump(speedup), **_figures(timing), "notes": _notes(timing, case, info)}
    if speedup.is_faster:
        return Timed(StepResult(StepName.SPEED, StepStatus.PASSED, data=data), speedup)
    message = _speed_message(speedup, data)
    return Timed(StepResult(StepName.SPEED, StepStatus.FAILED, message, data=data), speedup)


def _untimed(failed: Mapping[str, Any], case: Case) -> StepResult:
    """What is to be said of a contest that did not come about: whose fault it was decides."""
    why = f"{case.name}: {failed['message']}"
    if failed["of"] != "candidate":
        message = f"not measured: the text that it is timed against could not be timed: {why}"
        data = {"cause": Cause.ORIGINAL.value}
        return StepResult(StepName.SPEED, StepStatus.ERROR, message, data=data)
    if failed["status"] == JobStatus.OUT_OF_MEMORY:
        message = f"not measured: one process has too little memory for it and its original: {why}"
        return StepResult(StepName.SPEED, StepStatus.SKIPPED, message)
    return StepResult(StepName.SPEED, StepStatus.FAILED, f"it could not be timed: {why}")


def _refusal(timing: Contest, case: Case, info: DeviceInfo) -> str | None:
    """Why nothing can be concluded from a contest; None where something can."""
    if timing.get("wrong"):
        return f"the outputs of the timed calls are wrong: {timing['wrong']}"
    if timing.get("faults"):
        return f"the times are not trusted: {'; '.join(timing['faults'])}"
    if timing.get("noise") is None:
        return f"the times are not trusted: the noise floor of {info.name} was not measured"
    bound, taken = least_time(case, info), float(timing["candidate_us"])
    if bound is not None and taken < SHARE * bound.us:
        return (
            f"the times are not trusted: {taken:.1f} us a call, and {info.name} needs at least "
            f"{bound.us:.1f} us ({bound.why}); the kernel does not do the work, or the spec's flop "
            "or mem_bytes is too high"
        )
    return None


def _speedup(ratio: Ratio, timing: Contest, case: Case, info: DeviceInfo, baseline: str) -> Speedup:
    host, noise = timing.get("host_us") or {}, timing["noise"]
    assert noise is not None  # such times were refused
    return Speedup(
        value=ratio.value,
        low=ratio.low,
        high=ratio.high,
        confidence=CONFIDENCE,
        noise=noise,
        original_us=ratio.first,
        candidate_us=ratio.second,
        baseline=baseline,
        device=info.name,
        case=case.name,
        samples=ratio.samples,
        detectable=ratio.detectable(noise),
        original_host_us=host.get("A"),
        candidate_host_us=host.get("B"),
    )


def _figures(timing: Mapping[str, Any]) -> dict[str, Any]:
    """What else there is to tell of how it was measured."""
    told = ("wall", "host_bound", "looks", "checked", "repeats", "sets", "seconds")
    more = ("not_refreshed", "in_place", "clean_original_us", "clock_note", "driver", "duration")
    return {key: timing[key] for key in (*told, *more) if key in timing}


def _notes(timing: Contest, case: Case, info: DeviceInfo) -> list[str]:
    """Limits of the measured time, for the reader of the certificate."""
    notes = []
    if timing.get("not_refreshed"):
        names = ", ".join(timing["not_refreshed"])
        notes.append(f"timed calls all saw the same contents of {names}")
    if not timing.get("checked"):
        notes.append("no outputs of timed calls were compared")
    if (timing.get("host_bound") or {}).get("B"):
        notes.append(
            f"on {case.name} the host takes {timing['host_us']['B']:.0f} us to launch what the "
            f"device does in {timing['candidate_us']:.0f} us: the verdict is about the latter"
        )
    if least_time(case, info) is None:
        notes.append(
            f"{case.name} was not compared with the peak rates of {info.name}: the spec gives no "
            "flop or mem_bytes that bound it, or the chip's figures are unknown"
        )
    return notes


def _speed_message(speedup: Speedup, data: Mapping[str, Any]) -> str:
    figures = (
        f"on {speedup.device}, {speedup.case}: {speedup.words}, "
        f"noise floor {speedup.noise or 0:.3f}"
    )
    if speedup.is_slower:
        return f"slower than its input {figures}"
    bound = ""
    if (data.get("host_bound") or {}).get("B"):
        bound = "; the host needs longer to launch it than the device to run it"
    seen = detectable(speedup.detectable or 0)
    return f"not measurably faster than its input {figures}; {seen}{bound}"


def _failed(message: str) -> Timed:
    return Timed(StepResult(StepName.SPEED, StepStatus.FAILED, message))


class NoiseFloors:
    """Surveys of ``worker.timing.noise``, below ``$TILEWRIGHT_HOME/noise``, a file a class.

    A floor belongs to a device by its id and name, the versions of Python's packages there, and
    the worker's own code; its driver is in the record, for only the device's host can tell it.
    """

    def __init__(self, info: DeviceInfo, folder: Path | None = None) -> None:
        identity = json.dumps([info.id, info.name, info.torch, info.triton, worker_hash()])
        key = hashlib.sha256(identity.encode()).hexdigest()[:24]
        self._folder = (folder or home() / "noise") / key

    def known(self) -> dict[str, Any]:
        """The surveys that are fresh enough, by class, as a contest takes them for ``noise``."""
        found = {}
        for file in sorted(self._folder.glob("*.json")):
            record = _read(file)
            if record is not None and _age(record) <= MAX_AGE:
                found[str(record["duration"])] = record
        return found

    def keep(self, survey: Mapping[str, Any]) -> None:
        """Store a survey with today's date; it takes the place of one of the same class."""
        self._folder.mkdir(parents=True, exist_ok=True)
        record = {**survey, "measured": datetime.now(UTC).isoformat(timespec="seconds")}
        name = "".join(letter if letter.isalnum() else "_" for letter in str(survey["duration"]))
        write_atomically(self._folder / f"{name}.json", json.dumps(record).encode())


def _read(file: Path) -> dict[str, Any] | None:
    """A record that is whole; one that another version or an accident left is measured again."""
    try:
        record = json.loads(file.read_bytes())
        datetime.fromisoformat(record["measured"])
        float(record["floor"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if "duration" in record else None


def _age(record: Mapping[str, Any]) -> timedelta:
    return datetime.now(UTC) - datetime.fromisoformat(record["measured"])
