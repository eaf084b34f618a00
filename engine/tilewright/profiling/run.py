"""Profile of an unchanged file: compile reports, correctness, times, bottlenecks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.devices.model import is_neuron_target
from tilewright.evaluation.cascade import NO_PROBLEM
from tilewright.evaluation.compile_step import check_compile
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.model import StepResult, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware.model import Chip
from tilewright.problems.model import Case
from tilewright.profiling.bounds import verdict_of
from tilewright.profiling.facts import facts_of
from tilewright.profiling.measurement import Timed, Watched, count, watch
from tilewright.profiling.nki import nki_entries
from tilewright.profiling.observed import Observed
from tilewright.profiling.rules import findings_of
from tilewright.profiling.subjects import Subjects, watched_of
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

SCHEMA = 1
_NOTHING = "not compiled, not checked, not timed"
_NOT_SIMULATED = "no spec: not simulated, not checked"
_NOT_CHECKED = "the problem's checks were not run"
_NO_REFERENCE = "it runs; the problem has no reference to compare it with"
Tell = Callable[[int, str], None]


def profile_source(
    text: str,
    path: str,
    bench: Workbench | None,
    target: Target | None,
    tell: Tell,
    *,
    counters: bool = True,
    verify: bool = True,
) -> dict[str, Any]:
    """A JSON value with an entry for each launched kernel; ``notes`` has what could not be had.

    Args:
        counters: ask the device's profiler too, which takes seconds.
        verify: run the problem's checks too, which takes seconds.
    """
    module = parse_module(text, path)
    if target is not None and is_neuron_target(target):
        return _of_nki(module, bench, target, tell, verify=verify)
    kernels = _kernels(module, bench)
    if bench is None:
        note = f"no spec next to the file, and no captured launches of it: {_NOTHING}"
        entries = [_entry(kernel) | {"correct_why": note} for kernel in kernels]
        return _value(path, None, entries, [note])
    tell(10, "compiling")
    compiled = _compile(bench, text, target)
    tell(30, "checking")
    checked = check_correctness(bench, text, text) if verify else None
    tell(60, "timing")
    timed = _timed(bench, text)
    if counters and any(one.time is not None for _, one in timed):
        tell(75, "reading counters")
        timed = [_with_counters(bench, text, case, one) for case, one in timed]
    subjects = Subjects(bench, text, module, compiled, target)
    return _Profile(bench, subjects, compiled, timed).value(path, kernels, checked)


def _of_nki(
    module: Module, bench: Workbench | None, target: Target, tell: Tell, *, verify: bool
) -> dict[str, Any]:
    """The same value for NKI kernels: each entry has an ``estimate`` as well, and no time."""
    found, checked = nki_entries(module, bench, target, tell, verify=verify)
    notes = [] if bench is not None else [NO_PROBLEM.format(stem=Path(module.path).stem)]
    judged = _Judged(None, _NOT_SIMULATED) if bench is None else _judged(checked)
    by_name = {kernel.name: kernel for kernel in module.kernels}
    entries = []
    for one in found:
        told = _entry(by_name[one.pop("name")])
        told |= {"correct": judged.correct, "correct_why": judged.why or None, **one}
        told["notes"] = [*judged.notes, *one["notes"]]
        entries.append(told)
    device = bench.device.info.id if bench is not None else None
    return _value(module.path, device, entries, notes) | {"chip": str(target)}


@dataclass(frozen=True)
class _Judged:
    """Whether results are right; None where nothing tells, and then ``why`` says why."""

    correct: bool | None
    why: str = ""
    notes: tuple[str, ...] = ()


class _Profile:
    """Puts together what was found out of one file."""

    def __init__(
        self, bench: Workbench, subjects: Subjects, compiled: StepResult | None, timed: Timed
    ) -> None:
        self.bench, self.subjects = bench, subjects
        self.compiled, self.timed = compiled, timed

    def value(
        self, path: str, kernels: tuple[Kernel, ...], checked: StepResult | None
    ) -> dict[str, Any]:
        """The whole profile."""
        judged = _judged(checked)
        entries = [self._of_kernel(kernel, judged) for kernel in kernels]
        value = _value(path, self.bench.device.info.id, entries, self._remarks(len(kernels)))
        chip = self.subjects.chip
        return value | {"call": self._of_call(), "chip": chip.id if chip else None}

    def _of_kernel(self, kernel: Kernel, judged: _Judged) -> dict[str, Any]:
        case, watched = watched_of(kernel.name, self.timed)
        seen = self.subjects.kernel(kernel.name, case, watched)
        found = described(seen)
        untimed = [] if watched.time else [f"time not measured: {self._untimed(watched, found)}"]
        uncounted = [f"its work is counted in part: {note}" for note in seen.work.notes]
        told = {
            "report": _report(self.compiled, kernel.name),
            "correct": judged.correct,
            "correct_why": judged.why or None,
            "time": _time(watched),
            "notes": [*judged.notes, *untimed, *uncounted],
        }
        return _entry(kernel) | told | found

    def _untimed(self, watched: Watched, found: Mapping[str, Any]) -> str:
        """Why there is no time; of a chip that is not here, what there is instead."""
        chip = self.subjects.chip
        if self.bench.device.info.can_time or chip is None:
            return watched.failure or "it is not known why"
        compiled = self.compiled is not None and self.compiled.status is StepStatus.PASSED
        made = "compiled for it" if compiled else "not compiled for it"
        estimates = (one["value"] for one in found["facts"] if one["name"] == "estimate.time")
        told = "".join(f", {us:,.1f} us by estimate" for us in estimates)
        return f"{chip.id} is not here; {made}{told}, nothing was timed"

    def _of_call(self) -> dict[str, Any] | None:
        """The entry point's call, where it is more than one of the kernels."""
        for case, watched in self.timed:
            if case is not None and (seen := self.subjects.call(case, watched)) is not None:
                return {"case": case.name, "time": _time(watched)} | described(seen)
        return None

    def _remarks(self, kernels: int) -> list[str]:
        said = [self.compiled.message] if self.compiled and self.compiled.message else []
        if self.bench.problem.is_captured:
            said += self.bench.problem.warnings
        elif kernels > 1 and any(one.time is not None for _, one in self.timed):
            said.append("the time is of the whole entry point, all kernels together")
        for _, watched in self.timed:
            said += [note for note in watched.notes if note not in said]
        return [*said, *_foreign_chip(self.subjects.chip, self.timed)]


def _foreign_chip(known: Chip | None, timed: Timed) -> list[str]:
    """A word where the peaks are another product's."""
    device = next((one.device for _, one in timed if one.device), "")
    if known is None or not device or known.chip.split()[0].lower() in device.lower():
        return []
    return [f"peaks are those of {known.chip}; the device is {device}"]


def _kernels(module: Module, bench: Workbench | None) -> tuple[Kernel, ...]:
    """The kernels that the file launches, and those that captured launches are of."""
    cases = bench.problem.compiled_cases() if bench is not None else ()
    captured = {case.launch.kernel for case in cases if case.launch}
    launched = {kernel.name for kernel in module.entry_kernels()}
    return tuple(k for k in module.kernels if k.name in (captured or launched))


def _value(
    path: str, device: str | None, kernels: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "path": path, "device": device, "chip": None, "kernels": kernels,
        "call": None, "notes": notes,
    }  # fmt: skip


def _entry(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "line": kernel.range.line,
        "content_hash": kernel.content_hash,
        "report": None,
        "correct": None,
        "correct_why": None,
        "time": None,
        "bottleneck": None,
        "facts": [],
        "findings": [],
        "notes": [],
    }


def _compile(bench: Workbench, text: str, target: Target | None) -> StepResult | None:
    cases = bench.problem.compiled_cases()
    if target is None or not cases:
        return None
    return check_compile(bench, text, cases, target)


def _report(compiled: StepResult | None, kernel: str) -> Any:
    reports = compiled.data.get("reports", []) if compiled else []
    mine = [report for report in reports if report["kernel"] == kernel]
    return next((r for r in mine if r["ok"]), mine[0] if mine else None)


def _judged(checked: StepResult | None) -> _Judged:
    """Wrong is only what ran and was seen to be wrong; a step may fail before anything ran."""
    if checked is None:
        return _Judged(None, _NOT_CHECKED)
    every = checked.data.get("checks", [])
    asked = [check for check in every if not check.get("skipped")]
    faults = dict.fromkeys(check["fault"] for check in asked if check.get("fault"))
    if faults:
        return _Judged(False, "; ".join(faults))
    if checked.status is not StepStatus.PASSED:
        return _Judged(None, checked.message.removeprefix("not judged: "))
    if any(check["oracle"] == "original" for check in asked):
        notes = dict.fromkeys(check["note"] for check in asked if check.get("note"))
        return _Judged(None, "; ".join(notes) or _NO_REFERENCE)
    beyond = [check for check in every if check.get("skipped")]
    said = (f"it fails on inputs that its spec does not require: {_why(one)}" for one in beyond)
    return _Judged(True, notes=tuple(said))


def _why(check: Mapping[str, Any]) -> str:
    """A check's name, and what the coordinator says against the original there."""
    reason = str(check["skipped"]).partition(": ")[2]
    return f"{check.get('name')} ({reason})" if reason else str(check.get("name"))


def _timed(bench: Workbench, text: str) -> Timed:
    """Each case that is timed, watched; one without a case where nothing is, saying why."""
    if not bench.device.info.can_time:
        return [(None, Watched("", failure=f"{bench.device.info.name} cannot time a kernel"))]
    cases = bench.problem.compiled_cases() if bench.problem.measured_cases() else ()
    if not cases:
        return [(None, Watched("", failure="the problem has no case to time"))]
    return [(case, watch(bench, text, case)) for case in cases]


def _with_counters(
    bench: Workbench, text: str, case: Case | None, watched: Watched
) -> tuple[Case | None, Watched]:
    if case is None or watched.time is None:
        return case, watched
    kernels, notes = count(bench, text, case)
    return case, replace(watched, counters=kernels, notes=(*watched.notes, *notes))


def _time(watched: Watched) -> dict[str, Any] | None:
    if watched.time is None:
        return None
    return {
        "median_us": watched.time.median_us,
        "low_us": watched.time.low_us,
        "high_us": watched.time.high_us,
        "device": watched.device,
        "case": watched.case,
    }


def described(seen: Observed) -> dict[str, Any]:
    """``bottleneck``, ``facts``, ``findings``; the schema is in ``docs/profile.md``."""
    verdict = verdict_of(seen)
    return {
        "bottleneck": str(verdict.bottleneck) if verdict is not None else None,
        "facts": [dump(fact) for fact in facts_of(seen)],
        "findings": [dump(finding) for finding in findings_of(seen)],
    }
