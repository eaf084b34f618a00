"""All that is known of one subject, and what follows from it at once: the input of every rule."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.costs.model import Estimate
from tilewright.hardware.model import Chip
from tilewright.profiling.model import Counters, Host, Interval, Share, Source, Work
from tilewright.profiling.roofline import Roof, roof_of
from tilewright.targets.model import CompileReport
from tilewright.targets.occupancy import Occupancy, occupancy_of

_UNLIKE = 1.25


@dataclass(frozen=True)
class Observed:
    """One kernel, or a whole call.

    Attributes:
        name: of the kernel; None of a call.
        time: None where nothing was timed; then nothing of the findings is measured.
        time_source: the clock's, or the trace's, which leaves caches as they come.
        report: of the launch that ran, or would run.
        shares, host: of a call.
    """

    name: str | None
    chip: Chip | None
    work: Work = field(default_factory=Work)
    time: Interval | None = None
    time_source: Source = Source.CLOCK
    counters: Counters | None = None
    report: CompileReport | None = None
    estimate: Estimate | None = None
    shares: tuple[Share, ...] = ()
    host: Host | None = None

    @cached_property
    def bytes(self) -> tuple[float, Source] | None:
        """The least that memory must move: counted where that was possible, else the spec's."""
        if self.work.touched_bytes and (self.work.is_whole or not self.work.spec_bytes):
            return self.work.touched_bytes, Source.COUNTED
        if self.work.spec_bytes:
            return self.work.spec_bytes, Source.SPEC
        return None

    @cached_property
    def flop(self) -> tuple[float, Source] | None:
        """Operations: the spec's, which has those that are no products, else the products', else
        those of fp32 vectors, by counters."""
        if self.work.spec_flop:
            return self.work.spec_flop, Source.SPEC
        if counted := sum(self.work.dot_flop.values()):
            return counted, Source.COUNTED
        if vector := self.counter("fp32.flop"):
            return vector, Source.COUNTER
        return None

    @cached_property
    def roof(self) -> Roof | None:
        if self.chip is None or (self.bytes is None and self.flop is None):
            return None
        return roof_of(
            self.chip,
            self.bytes[0] if self.bytes else None,
            self.flop[0] if self.flop else None,
            self.work.dot_flop,
            tensor=self.uses_tensor,
        )

    @cached_property
    def uses_tensor(self) -> bool:
        """Whether products became tensor instructions, by the compiler's report."""
        if self.report is None or not self.report.ok or not self.report.lines:
            return True
        asking = [line for line in self.report.lines if line.dots]
        return not asking or any(sum(line.tensor.values()) for line in self.report.lines)

    @cached_property
    def moved_bytes(self) -> float | None:
        """Between the chip and its memory, by counters."""
        read, written = self.counter("memory.read"), self.counter("memory.write")
        return None if read is None or written is None else read + written

    @cached_property
    def memory_share(self) -> tuple[float, Source] | None:
        """Part of the peak bandwidth that is used, 0 to 1; without counters the least it can be."""
        peak = self.roof.peak_bytes if self.roof else None
        if self.time is None or not peak:
            return None
        seconds = self.time.median_us * 1e-6
        if self.moved_bytes is not None:
            return self.moved_bytes / seconds / peak, Source.COUNTER
        return None if self.bytes is None else (self.bytes[0] / seconds / peak, self.bytes[1])

    @cached_property
    def arithmetic_share(self) -> tuple[float, Source] | None:
        """Part of the peak rate that is used, 0 to 1."""
        if self.time is None or self.flop is None or not (self.roof and self.roof.peak_flop):
            return None
        return self.flop[0] / (self.time.median_us * 1e-6) / self.roof.peak_flop, self.flop[1]

    @cached_property
    def occupancy(self) -> Occupancy | None:
        return occupancy_of(self.report) if self.report is not None else None

    @property
    def is_measured(self) -> bool:
        return self.time is not None

    def counter(self, name: str) -> float | None:
        """A counter, None where there are none."""
        return self.counters.get(name) if self.counters is not None else None

    def share_of(self, name: str) -> float | None:
        """A counter in percent, as 0 to 1."""
        value = self.counter(name)
        return None if value is None else value / 100.0

    def disagreement(self) -> Iterator[tuple[str, float, float]]:
        """(what, by the spec, by the count) where the two differ more than a rounding explains."""
        work = self.work
        if not work.is_whole:
            return
        for what, one, other in (
            ("mem_bytes", work.spec_bytes, work.touched_bytes),
            ("flop", work.spec_flop, sum(work.dot_flop.values()) or None),
        ):
            if one and other and max(one / other, other / one) > _UNLIKE:
                yield what, one, other
