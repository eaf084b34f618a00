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
from tilewright.source.model import Kernel
from tilewright.targets.model import Target

BUDGET_S = 0.5
Tell = Callable[[int, str], None]


def profile_source(
    text: str, path: str, bench: Workbench | None, target: Target | None, tell: Tell
) -> dict[str, Any]:
    """A JSON value with an entry for each launched kernel; ``notes`` has what could not be had."""
    module = parse_module(text, path)
    kernels = tuple(module.entry_kernels())
    if bench is None:
        note = "no problem spec beside the file: not compiled, not checked, not timed"
        return _value(path, None, [_entry(kernel) for kernel in kernels], [note])
    tell(10, "compiling")
    compiled = _compile(bench, text, target)
    tell(40, "checking")
    checked = check_correctness(bench, text, text)
    tell(70, "timing")
    time, time_note = _time(bench, text)
    correct, notes = _correct(checked)
    entries = [
        _entry(kernel)
        | {
            "report": _report(compiled, kernel.name),
            "correct": correct,
            "time": time,
            "notes": notes + ([time_note] if time_note else []),
        }
        for kernel in kernels
    ]
    remarks = [compiled.message] if compiled and compiled.message else []
    if time is not None and len(kernels) > 1:
        remarks.append("the time is of the whole entry point, all kernels together")
    return _value(path, bench.device.info.id, entries, remarks)


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
    cases = bench.problem.measured_cases() or bench.problem.check_cases()
    if target is None or not cases:
        return None
    return check_compile(bench, text, cases[0], target)


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


def _time(bench: Workbench, text: str) -> tuple[dict[str, Any] | None, str | None]:
    if not bench.device.info.can_time:
        return None, f"time not measured: {bench.device.info.name} cannot time a kernel"
    cases: tuple[Case, ...] = bench.problem.measured_cases()
    if not cases:
        return None, "time not measured: the problem has no case to time"
    inputs = bench.inputs(cases[0], 0)
    if inputs.status is not JobStatus.OK:
        return None, f"time not measured: {explain(inputs)}"
    job = bench.job("measure", text) | {
        "case": dump(cases[0]),
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
        "case": cases[0].name,
    }, None
