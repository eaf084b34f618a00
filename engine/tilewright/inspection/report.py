"""Compile reports of several chips for an unchanged file, kernel by kernel."""

from dataclasses import dataclass, replace
from typing import Any

from tilewright.analysis.model import Issue
from tilewright.compiled.issues import compiled_issues
from tilewright.costs import Estimate, estimate
from tilewright.evaluation.workbench import Workbench
from tilewright.inspection.launch_sources import KernelLaunches
from tilewright.serialize import dump
from tilewright.signatures.model import Origin
from tilewright.source.model import Module
from tilewright.targets.assembly.places import lines_of
from tilewright.targets.compilation import compile_stage
from tilewright.targets.model import (
    MACHINE_CODE,
    STAGES,
    CompileReport,
    LaunchFacts,
    StageText,
    Target,
)
from tilewright.targets.toolchains import NoToolchainError


@dataclass(frozen=True)
class Inspected:
    """A kernel for the targets that it was compiled for so far.

    Attributes:
        line: of its first decorator, in the text that was inspected.
        origin: how its launches are known; None if none is, and then ``notes`` say why.
        why: why there are no better launches; empty where that needs no reason.
        reports: one a launch and target; none for a target that nothing here compiles for.
        estimates: of each report's time; None where there is nothing to reckon with.
    """

    name: str
    line: int
    content_hash: str
    origin: Origin | None
    targets: tuple[Target, ...] = ()
    reports: tuple[CompileReport, ...] = ()
    estimates: tuple[Estimate | None, ...] = ()
    issues: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Compilers:
    """A text, where compilers find it."""

    bench: Workbench
    text: str

    def report(self, launch: LaunchFacts, target: Target) -> CompileReport:
        """As ``compile_launch`` says."""
        return self.bench.compile(self.text, launch, target)

    def try_report(self, launch: LaunchFacts, target: Target) -> CompileReport | None:
        """The same, None where nothing here compiles for the target."""
        try:
            return self.report(launch, target)
        except NoToolchainError:
            return None

    def stage(self, launch: LaunchFacts, target: Target, stage: str) -> StageText:
        """As ``compile_stage`` says."""
        placed = str(self.bench.place(self.text))
        return compile_stage(self.bench.device, placed, launch, target, stage)


def _issues(
    module: Module,
    one: KernelLaunches,
    reports: tuple[CompileReport, ...],
    compilers: Compilers,
) -> tuple[Issue, ...]:
    assumed = {one.kernel.name} if one.origin is Origin.INFERRED else ()
    return compiled_issues(module, reports, compilers.try_report, assumed)


def not_inspected(one: KernelLaunches) -> Inspected:
    """A kernel before any compiler has seen it."""
    kernel = one.kernel
    return Inspected(
        kernel.name,
        kernel.range.line,
        kernel.content_hash,
        one.origin,
        notes=one.notes,
        why=one.why,
    )


def inspected_for(
    target: Target, so_far: Inspected, module: Module, one: KernelLaunches, compilers: Compilers
) -> Inspected:
    """Compile a kernel for one more target, and judge all that is known of it.

    Raises:
        DeviceError: the compilers' process cannot be started, or went away twice.
    """
    reports, notes = so_far.reports, so_far.notes
    try:
        reports += tuple(compilers.report(launch, target) for launch in one.launches)
    except NoToolchainError as error:
        notes = (*notes, str(error))
    return replace(
        so_far,
        targets=(*so_far.targets, target),
        reports=reports,
        estimates=tuple(estimate(module, report) for report in reports),
        issues=_issues(module, one, reports, compilers) if reports else (),
        notes=notes,
    )


def stage_view(
    launch: LaunchFacts, target: Target, stage: str | None, compilers: Compilers
) -> dict[str, Any]:
    """A JSON value: a stage's text and the lines of it that each source line became.

    Args:
        stage: the chip's own code if None.

    Raises:
        NoToolchainError, DeviceError: as ``compile_stage`` does.
    """
    wanted = stage or MACHINE_CODE[target.backend]
    found = compilers.stage(launch, target, wanted)
    lines: dict[str, list[int]] = {}
    if found.text is not None:
        for at, line in sorted(
            lines_of(wanted, found.text, compilers.bench.source_path.name).items()
        ):
            lines.setdefault(str(line), []).append(at)
    return {
        "kernel": launch.kernel,
        "target": str(target),
        "stage": wanted,
        "stages": list(STAGES[target.backend]),
        "launch": dump(launch),
        "text": found.text,
        "missing": found.missing,
        "lines": lines,
    }
