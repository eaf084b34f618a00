"""The third step: does the real compiler accept the candidate, and with which resources?"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.model import Case
from tilewright.serialize import dump
from tilewright.targets.caveats import caveats
from tilewright.targets.model import CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError


def check_compile(bench: Workbench, text: str, cases: Sequence[Case], target: Target) -> StepResult:
    """Compile every kernel that ``cases`` launch, each autotune configuration included.

    A kernel passes if at least one of its configurations compiles, as the autotuner would
    leave the others out; those others are named in the data.
    """
    launches: list[LaunchFacts] = []
    notes: list[str] = []
    for case in cases:
        capture = bench.capture(text, case)
        fault = (
            capture.failure
            and f"the entry point failed before its kernels could be compiled: {capture.failure}"
        )
        if not fault and not capture.launches:
            fault = f"{bench.problem.entry.name} launches no Triton kernel for {case.name}"
        if fault:
            return StepResult(StepName.COMPILE, StepStatus.FAILED, fault)
        launches += capture.launches
        notes += capture.notes
    try:
        reports = list(compiled(bench, text, launches, target))
    except NoToolchainError as error:
        return StepResult(StepName.COMPILE, StepStatus.SKIPPED, str(error))
    return judge_reports(reports, notes)


def compiled(
    bench: Workbench, text: str, launches: Sequence[LaunchFacts], target: Target
) -> Iterator[CompileReport]:
    """The report of each launch, in their order; as many are compiled at a time as there are
    processors.

    Raises:
        NoToolchainError: nothing here compiles for the target.
    """
    with ThreadPoolExecutor(max(1, min(len(launches), os.cpu_count() or 1))) as pool:
        yield from pool.map(lambda launch: bench.compile(text, launch, target), launches)


def judge_reports(reports: Sequence[CompileReport], notes: Sequence[str] = ()) -> StepResult:
    """Passed when each kernel has a configuration that compiles."""
    told = list(caveats(reports))
    data = {"reports": [dump(report) for report in reports], "notes": list(notes), "caveats": told}
    failed = [
        name
        for name in dict.fromkeys(report.kernel for report in reports)
        if not any(report.ok for report in reports if report.kernel == name)
    ]
    if failed:
        message = "; ".join(
            f"{name} does not compile for {reports[0].target}: {_first_message(reports, name)}"
            for name in failed
        )
        return StepResult(StepName.COMPILE, StepStatus.FAILED, message, _seconds(reports), data)
    return StepResult(StepName.COMPILE, StepStatus.PASSED, "", _seconds(reports), data)


def _first_message(reports: Sequence[CompileReport], kernel: str) -> str:
    for report in reports:
        if report.kernel == kernel and report.messages:
            message = report.messages[0]
            return f"line {message.line}: {message.text}" if message.line else message.text
    return "the compiler gave no message"


def _seconds(reports: Sequence[CompileReport]) -> float:
    return sum(report.seconds for report in reports)


def spill_bytes(reports: Sequence[CompileReport]) -> int:
    """Spilled bytes a thread, summed over kernels, at each kernel's best configuration."""
    best: dict[str, int] = {}
    for report in reports:
        if report.ok:
            spilled = report.spill_bytes or 0
            best[report.kernel] = min(spilled, best.get(report.kernel, spilled))
    return sum(best.values())


def unfit(reports: Sequence[CompileReport], tolerated_spill: int = 0) -> str | None:
    """Why a configuration is not worth a device's time: it does not compile, or it spills more
    bytes a thread than are tolerated."""
    for report in reports:
        if not report.ok:
            return _first_message([report], report.kernel)
    spilled = spill_bytes(reports)
    return f"spills {spilled} bytes a thread" if spilled > tolerated_spill else None
