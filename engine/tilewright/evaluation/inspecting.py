"""What the compilers of several chips make of a file as it stands, kernel by kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.analysis.model import Issue
from tilewright.compiled import compiled_issues
from tilewright.devices.model import Device
from tilewright.evaluation.launching import KernelLaunches
from tilewright.serialize import dump
from tilewright.signatures import Origin
from tilewright.source.model import Module
from tilewright.targets import NoToolchainError, compile_launch, compile_stage
from tilewright.targets.assembly.places import lines_of
from tilewright.targets.model import MACHINE_CODE, STAGES, CompileReport, LaunchFacts, Target


@dataclass(frozen=True)
class Inspected:
    """A kernel for all the targets that were asked for.

    Attributes:
        line: of its first decorator, in the text that was inspected.
        origin: how its launches are known; None if none is, and then ``notes`` say why.
        reports: one a launch and target; none for a target that nothing here compiles for.
    """

    name: str
    line: int
    content_hash: str
    origin: Origin | None
    reports: tuple[CompileReport, ...] = ()
    issues: tuple[Issue, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compilers:
    """A text where compilers find it: ``placed`` is the file that holds it."""

    device: Device
    placed: Path

    def report(self, launch: LaunchFacts, target: Target) -> CompileReport:
        """As ``compile_launch`` says."""
        return compile_launch(self.device, str(self.placed), launch, target)

    def try_report(self, launch: LaunchFacts, target: Target) -> CompileReport | None:
        """The same, None where nothing here compiles for the target."""
        try:
            return self.report(launch, target)
        except NoToolchainError:
            return None


def inspect_kernel(
    module: Module, one: KernelLaunches, targets: Sequence[Target], compilers: Compilers
) -> Inspected:
    """Compile a kernel for each target and judge what came of it.

    Raises:
        DeviceError: the compilers' process cannot be started, or went away twice.
    """
    kernel, notes = one.kernel, list(one.notes)
    reports: list[CompileReport] = []
    for target in targets:
        try:
            reports += [compilers.report(launch, target) for launch in one.launches]
        except NoToolchainError as error:
            notes.append(str(error))
    return Inspected(
        kernel.name,
        kernel.range.line,
        kernel.content_hash,
        one.origin,
        tuple(reports),
        compiled_issues(module, reports, compilers.try_report) if reports else (),
        tuple(notes),
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
    found = compile_stage(compilers.device, str(compilers.placed), launch, target, wanted)
    lines: dict[str, list[int]] = {}
    if found.text is not None:
        for at, line in sorted(lines_of(wanted, found.text, compilers.placed.name).items()):
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
