"""What can be said of a file as it stands: compiler, correctness, time. Used on save."""

from collections.abc import Callable
from typing import Any

from tilewright.devices.model import JobStatus
from tilewright.evaluation.compiling import check_compile
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.model import StepResult, StepStatus
from tilewright.evaluation.statistics import interval_of
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

BUDGET_S = 0.5
_NOTHING = "not compiled, not checked, not timed"
Tell = Callable[[int, str], None]


def profile_source(
    text: str, path: str, bench: Workbench | None, target: Target | None, tell: Tell
) -> dict[str, Any]:
    """A JSON value with an entry for each launched kernel; ``notes`` has what could not be had."""
    module = parse_module(text, path)
    kernels = _kernels(module, bench)
    if bench is None:
        note = f"no problem spec beside the file, and no captured launches of it: {_NOTHING}"
        return _value(path, None, [_entry(kernel) for kernel in kernels], [note])
    tell(10, "compiling")
    compiled = _compile(bench, text, target)
    tell(40, "checking")
    checked = check_correctness(bench, text, text)
    tell(70, "timing")
    timed = _times(bench, text)
    correct, notes = _correct(checked)
    entries = []
    for kernel in kernels:
        time, time_note = timed.get(kernel.name) or timed.get("", (None, None))
        entries.append(
            _entry(kernel)
            | {
                "report": _report(compiled, kernel.name),
                "correct": correct,
                "time": time,
                "notes": notes + ([time_note] if time_note else []),
            }
        )
    remarks = [compiled.message] if compiled and compiled.message else []
    if bench.problem.is_captured:
        remarks += bench.problem.warnings
    elif len(kernels) > 1 and any(time is not None for time, _ in timed.values()):
        remarks.append("the time is of the whole entry point, all kernels together")
    return _value(path, bench.device.info.id, entries, remarks)


def _kernels(module: Module, bench: Workbench | None) -> tuple[Kernel, ...]:
    """The kernels that the file launches, and those that captured launches are of."""
    cases = bench.problem.compiled_cases() if bench is not None else ()
    captured = {case.launch.kernel for case in cases if case.launch}
    launched = {kernel.name for kernel in module.entry_kernels()}
    return tuple(k for k in module.kernels if k.name in (captured or launched))


def _value(
    path: str, device: str | None, kernels: list[dict[str, Any]], notes: list[str]
) -> dict[str, Any]:
    return {"path": path, "device": device, "kernels": kernels, "notes": notes}


def _entry(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "line": kernel.range.line,
        "content_hash": kernel.content_hash,
        "report": None,
        "correct": None,
        "time": None,
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


def _correct(checked: StepResult) -> tuple[bool | None, list[str]]:
    checks = checked.data.get("checks", [])
    doubts = [check["note"] for check in checks if check.get("note")]
    if checked.status is StepStatus.FAILED:
        return False, [checked.message]
    if checked.status is StepStatus.SKIPPED:
        return None, [checked.message]
    if doubts:
        return False, list(dict.fromkeys(doubts))
    if any(check["oracle"] == "original" for check in checks):
        return None, ["it runs; the problem has no reference to compare it with"]
    return True, []


_Time = tuple[dict[str, Any] | None, str | None]


def _times(bench: Workbench, text: str) -> dict[str, _Time]:
    """(time, or why there is none) of each captured kernel; under "" of an entry point."""
    if not bench.device.info.can_time:
        return {"": (None, f"time not measured: {bench.device.info.name} cannot time a kernel")}
    cases = bench.problem.compiled_cases() if bench.problem.measured_cases() else ()
    if not cases:
        return {"": (None, "time not measured: the problem has no case to time")}
    return {case.launch.kernel if case.launch else "": _time(bench, text, case) for case in cases}


def _time(bench: Workbench, text: str, case: Case) -> _Time:
    inputs = bench.inputs(case, 0)
    if inputs.status is not JobStatus.OK:
        return None, f"time not measured: {explain(inputs)}"
    job = bench.job("measure", text) | {
        "case": dump(case),
        "inputs": inputs.value["inputs"],
        "device": bench.device.info.id,
        "out": str(bench.scratch / "profiled"),
        "budget_s": BUDGET_S,
    }
    outcome = bench.run(job, TIMEOUT_S)
    if outcome.status is not JobStatus.OK:
        return None, f"time not measured: {explain(outcome)}"
    middle, low, high = interval_of(outcome.value["us"], bench.seed)
    return {
        "median_us": middle,
        "low_us": low,
        "high_us": high,
        "device": bench.device.info.name,
        "case": case.name,
    }, None
