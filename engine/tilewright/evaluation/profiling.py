"""What can be said of a file as it stands: compiler, correctness, time, and what bounds it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tilewright.costs import estimate
from tilewright.evaluation.compiling import check_compile
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.model import StepResult, StepStatus
from tilewright.evaluation.observing import Watched, count, kernel_named, watch
from tilewright.evaluation.workbench import Workbench
from tilewright.hardware import Chip, HardwareError, chip
from tilewright.problems.model import Case
from tilewright.profiling import Interval, Source
from tilewright.profiling.counting import together, work_of
from tilewright.profiling.model import Share, Work
from tilewright.profiling.observed import Observed
from tilewright.profiling.putting import described
from tilewright.serialize import load
from tilewright.source import parse_module
from tilewright.source.model import Kernel, Module
from tilewright.targets import NoToolchainError
from tilewright.targets.model import CompileReport, LaunchFacts, Target

SCHEMA = 1
_NOTHING = "not compiled, not checked, not timed"
_ALONE = 0.9
Tell = Callable[[int, str], None]


def profile_source(
    text: str,
    path: str,
    bench: Workbench | None,
    target: Target | None,
    tell: Tell,
    *,
    counters: bool = True,
) -> dict[str, Any]:
    """A JSON value with an entry for each launched kernel; ``notes`` has what could not be had.

    Args:
        counters: ask the device's profiler too, which takes seconds.
    """
    module = parse_module(text, path)
    kernels = _kernels(module, bench)
    if bench is None:
        note = f"no problem spec beside the file, and no captured launches of it: {_NOTHING}"
        return _value(path, None, [_entry(kernel) for kernel in kernels], [note])
    tell(10, "compiling")
    compiled = _compile(bench, text, target)
    tell(30, "checking")
    checked = check_correctness(bench, text, text)
    tell(60, "timing")
    timed = _timed(bench, text)
    if counters and any(one.time is not None for _, one in timed):
        tell(75, "reading counters")
        timed = [_with_counters(bench, text, case, one) for case, one in timed]
    return _Profile(module, text, bench, target, compiled, timed).value(kernels, checked)


class _Profile:
    """Puts together what was found out of one file."""

    def __init__(
        self,
        module: Module,
        text: str,
        bench: Workbench,
        target: Target | None,
        compiled: StepResult | None,
        timed: list[tuple[Case | None, Watched]],
    ) -> None:
        self.module, self.text, self.bench = module, text, bench
        self.target = bench.device.info.target or target
        self.chip = _chip(self.target)
        reports = compiled.data.get("reports", []) if compiled else []
        self.reports = [load(CompileReport, report) for report in reports]
        self.raw_reports = reports
        self.compiled, self.timed = compiled, timed

    def value(self, kernels: tuple[Kernel, ...], checked: StepResult) -> dict[str, Any]:
        """The whole profile."""
        correct, notes = _correct(checked)
        entries = []
        for kernel in kernels:
            case, watched = self._watched(kernel.name)
            seen = self._observed(kernel.name, case, watched)
            time, time_note = _time_of(watched, seen)
            entries.append(
                _entry(kernel)
                | {
                    "report": _report(self.raw_reports, kernel.name),
                    "correct": correct,
                    "time": time,
                    "notes": notes + ([time_note] if time_note else []),
                }
                | described(seen)
            )
        device = self.bench.device.info.id
        value = _value(str(self.module.path), device, entries, self._remarks(len(kernels)))
        return value | {"call": self._call(), "chip": self.chip.id if self.chip else None}

    def _watched(self, kernel: str) -> tuple[Case | None, Watched]:
        for case, watched in self.timed:
            if case is None or case.launch is None or case.launch.kernel == kernel:
                return case, watched
        return None, Watched("", failure="none of its launches was run")

    def _observed(self, kernel: str, case: Case | None, watched: Watched) -> Observed:
        launches = tuple(one for one in watched.launches if one.kernel == kernel)
        report = self._report_of(kernel, launches)
        if not launches and report is not None:
            launches = (report.launch,)
        seen = Observed(
            kernel,
            self.chip,
            together(tuple(work_of(self.module, one) for one in launches)) if launches else Work(),
            report=report,
            estimate=estimate(self.module, report) if report is not None else None,
            counters=kernel_named(kernel, watched.counters),
        )
        if watched.time is None:
            return seen
        if _is_alone(kernel, watched):
            return _as_the_call(seen, case, watched)
        share = _share_of(kernel, watched.shares)
        if share is None:
            return seen
        return replace(seen, time=Interval(share.us, share.us, share.us), time_source=Source.TRACE)

    def _report_of(self, kernel: str, launches: tuple[LaunchFacts, ...]) -> CompileReport | None:
        """The report of the launch that ran; of the first that compiles where none ran."""
        mine = [report for report in self.reports if report.kernel == kernel]
        if launches:
            wanted = launches[0]
            for report in mine:
                if report.launch.settings == wanted.settings and report.launch.grid == wanted.grid:
                    return report
            return self._compiled_now(wanted)
        return next((report for report in mine if report.ok), mine[0] if mine else None)

    def _compiled_now(self, launch: LaunchFacts) -> CompileReport | None:
        if self.target is None:
            return None
        try:
            return self.bench.compile(self.text, launch, self.target)
        except NoToolchainError:
            return None

    def _call(self) -> dict[str, Any] | None:
        """The entry point's call, where it is more than one of the kernels."""
        for case, watched in self.timed:
            if case is None or case.launch is not None or watched.time is None:
                continue
            names = {launch.kernel for launch in watched.launches}
            if len(names) == 1 and _is_alone(next(iter(names)), watched):
                return None
            seen = _as_the_call(Observed(None, self.chip), case, watched)
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
        return [*said, *_foreign_chip(self.chip, self.timed)]


def _chip(target: Target | None) -> Chip | None:
    try:
        return chip(target) if target is not None else None
    except HardwareError:
        return None


def _foreign_chip(known: Chip | None, timed: list[tuple[Case | None, Watched]]) -> list[str]:
    """A word where the peaks are another product's."""
    device = next((one.device for _, one in timed if one.device), "")
    if known is None or not device or known.chip.split()[0].lower() in device.lower():
        return []
    return [f"peaks are those of {known.chip}; the device is {device}"]


def _is_alone(kernel: str, watched: Watched) -> bool:
    """Whether a call's time is the kernel's, as good as."""
    if {launch.kernel for launch in watched.launches} != {kernel}:
        return False
    share = _share_of(kernel, watched.shares)
    total = sum(one.us for one in watched.shares)
    return share is None or not total or share.us / total >= _ALONE


def _share_of(kernel: str, shares: tuple[Share, ...]) -> Share | None:
    return next((one for one in shares if one.ours and one.name.startswith(kernel)), None)


def _as_the_call(seen: Observed, case: Case | None, watched: Watched) -> Observed:
    work = seen.work
    if case is not None:
        work = replace(work, spec_bytes=case.mem_bytes, spec_flop=case.flop)
    return replace(seen, work=work, time=watched.time, shares=watched.shares, host=watched.host)


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


def _report(reports: list[Any], kernel: str) -> Any:
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


def _timed(bench: Workbench, text: str) -> list[tuple[Case | None, Watched]]:
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


def _time_of(watched: Watched, seen: Observed) -> tuple[dict[str, Any] | None, str | None]:
    """(the kernel's time, or its call's; why there is none)."""
    if watched.time is None:
        return None, f"time not measured: {watched.failure}"
    del seen
    return _time(watched), None


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
