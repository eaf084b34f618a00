"""What a profile says: facts with their source, and findings made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Source(StrEnum):
    """Where a number comes from."""

    CLOCK = "clock"
    """Device events or the host's clock around calls."""
    TRACE = "trace"
    """The device's own record of what it ran."""
    COUNTER = "counter"
    """Hardware counters, read by a profiler."""
    SPEC = "spec"
    """The problem's formula."""
    COUNTED = "counted"
    """The kernel's accesses and products at this launch, counted in its source."""
    COMPILER = "compiler"
    DATASHEET = "datasheet"
    ESTIMATE = "estimate"
    """The static cost: no device was asked."""


class Confidence(StrEnum):
    """How far a number may be believed."""

    MEASURED = "measured"
    DERIVED = "derived"
    """Arithmetic over measured numbers and others."""
    COMPUTED = "computed"
    """By formula or count: what must be so, if the formula is right."""
    PUBLISHED = "published"
    ESTIMATED = "estimated"


@dataclass(frozen=True)
class Fact:
    """One number with its unit and source.

    Attributes:
        name: as ``docs/profile.md`` lists them: "bandwidth.achieved".
        unit: "us", "B", "B/s", "flop", "flop/s", "flop/B", "%", "ratio", "count".
        line: of the file, 1-based, where it is of one line.
        note: what else must be known to read it.
    """

    name: str
    value: float
    unit: str
    source: Source
    confidence: Confidence
    line: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A sentence for a person, with what a model needs to act on it.

    Attributes:
        id: of the kind of finding: "roof", "traffic", "stall", ...
        text: one sentence with its numbers.
        weight: orders findings; about the part of the time that is at stake, 0 to 1.
        line: of the file, 1-based, where it is about one.
        suggests: ids of the taxonomy.
        facts: names of the facts it rests on.
        measured: False where nothing of it was measured.
    """

    id: str
    text: str
    weight: float
    line: int | None = None
    suggests: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    measured: bool = True


@dataclass(frozen=True)
class Interval:
    """A median in microseconds with its bootstrap interval."""

    median_us: float
    low_us: float
    high_us: float


@dataclass(frozen=True)
class Work:
    """What a launch or a call has to do, by each of the ways it is known.

    Attributes:
        spec_bytes, spec_flop: by the problem's formulas.
        touched_bytes: that the launch touches, each once: the least that memory must move.
        asked_bytes: that its programs ask for, in whole sectors, as often as they ask.
        dot_flop: of its matrix products, by the element type of their operands.
        programs: of the launch.
        again: the lines whose loads read what another of them has read.
        dot_lines: of its products.
        notes: what could not be counted.
    """

    spec_bytes: float | None = None
    spec_flop: float | None = None
    touched_bytes: float | None = None
    asked_bytes: float | None = None
    dot_flop: Mapping[str, float] = field(default_factory=dict)
    programs: int | None = None
    again: tuple[int, ...] = ()
    dot_lines: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether everything could be counted; else counts are the least that can be."""
        return not self.notes


@dataclass(frozen=True)
class Counters:
    """Counters of one kernel in one call, by the names in ``counters.WANTED``.

    Attributes:
        values: sums over the kernel's launches, or means weighted with their time.
        stalls: share of the cycles between two instructions of a warp, by reason.
        line_stalls: samples by (line, reason), where the profiler tells lines.
        tool: with its version.
    """

    values: Mapping[str, float]
    stalls: Mapping[str, float] = field(default_factory=dict)
    line_stalls: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    tool: str = ""

    def get(self, name: str) -> float | None:
        """A counter, None if it was not read."""
        return self.values.get(name)


@dataclass(frozen=True)
class Share:
    """What the device runs in a call under one name: a kernel, a copy, a fill."""

    name: str
    count: float
    us: float
    ours: bool
    """A Triton kernel of the call."""


@dataclass(frozen=True)
class Host:
    """How the host keeps up, in microseconds a call.

    Attributes:
        host_us: until the host has handed a call over.
        call_us: of many calls in a row, by the wall clock.
        busy_us: that the device is busy; None if no trace was had.
    """

    host_us: float
    call_us: float | None
    busy_us: float | None


@dataclass(frozen=True)
class Profiled:
    """Facts and findings of one subject: a kernel, or a whole call."""

    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()
