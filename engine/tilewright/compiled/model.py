"""What a rule is given, and what it says."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Tiles, tiles_of
from tilewright.hardware.chips import chip
from tilewright.hardware.model import Chip, HardwareError
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range
from tilewright.targets.model import CompileReport, LaunchFacts, Target

REFUSED = "does_not_compile"
"""The issue of what a compiler refuses, in its own words."""
Probe = Callable[[LaunchFacts, Target], CompileReport | None]
"""Compiles the kernel for a launch that was not asked for; None where that cannot be done."""


@dataclass(frozen=True)
class Subject:
    """One report, with what is known around it.

    Attributes:
        reports: all of this kernel: other launches, other configurations, other targets.
        probe: compiles a variation, to confirm a reason; None: reasons stay unconfirmed.
        inferred: this launch was not captured: shapes, strides and alignment are assumed.
    """

    module: Module
    kernel: Kernel
    report: CompileReport
    reports: tuple[CompileReport, ...]
    probe: Probe | None = None
    inferred: bool = False

    @property
    def launch(self) -> LaunchFacts:
        return self.report.launch

    @property
    def backend(self) -> str:
        return self.report.target.backend

    @cached_property
    def chip(self) -> Chip | None:
        """The figures of the target; None where the knowledge base has none."""
        try:
            return chip(self.report.target)
        except HardwareError:
            return None

    @cached_property
    def tiles(self) -> Tiles:
        """What is inferred of the kernel's values at this launch."""
        return tiles_of(self.module, self.kernel, AnalysisContext(launches=(self.launch,)))

    def probed(self, launch: LaunchFacts) -> CompileReport | None:
        """The report of a variation; None without a probe, or where it does not compile."""
        found = self.probe(launch, self.report.target) if self.probe else None
        return found if found is not None and found.ok else None


@dataclass(frozen=True)
class Seen:
    """What a rule says of one report.

    Attributes:
        where: the line it is about, or the kernel's name.
        what: what is so, with this report's numbers; begins in lower case, as a clause.
        do: what to do; a clause too.
        amount: how bad, to choose among configurations; equal numbers keep the first.
        severity: where it is less than the taxonomy says.
        lead: what goes before; "{targets}" and "{which}" stand for the chips and for how many of
            the configurations.
    """

    where: Range
    what: str
    do: str
    amount: float = 1.0
    severity: int | None = None
    lead: str = "on {targets}{which}, "
    data: Mapping[str, str] = field(default_factory=dict)


Rule = Callable[[Subject], Iterator[Seen]]
