"""What a simulated launch is asked for, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..messages.nki import InstructionRecord

Flavour = Literal["neuronxcc", "nki"]
FaultKind = Literal[
    "unsupported",  # a name or an argument that the simulator does not have
    "argument",  # an argument that the call does not take
    "limit",  # an extent over a limit of the chip
    "memory",  # an operand in a memory that the instruction cannot reach
    "shape",  # operands whose shapes do not fit
    "start-partition",
    "out-of-bounds",
    "index",  # a subscript that the language refuses
    "scope",  # a tile used after the loop turn that made it
    "capacity",  # SBUF or PSUM over its size
    "read-only",  # a write to an argument
    "uninitialized",  # memory that was never written reaches an output
    "unwritten",  # elements of an output that no store reached
    "loop-order",  # turns of an affine loop that depend on each other
    "program-order",  # program instances that depend on each other
    "domain",  # an argument of a function outside the range in which it is defined
    "exception",  # the kernel raised
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of one NeuronCore, as the engine sends them from ``knowledge/hardware``.

    Attributes:
        partitions: of SBUF, of PSUM and of a tile.
        sbuf_bytes: of one partition.
        psum_banks, psum_bank_bytes: of one partition.
        stationary_free: columns of the stationary operand of a product.
        moving_free: columns of the moving operand of a product.
        free_elements_sbuf, free_elements_psum: elements a partition of one access.
        dimensions: of one access, the partition among them.
        generation: of the NeuronCore: 2 is trn1, 3 is trn2, 4 is trn3.
    """

    partitions: int = 128
    sbuf_bytes: int = 192 * 1024
    psum_banks: int = 8
    psum_bank_bytes: int = 2048
    stationary_free: int = 128
    moving_free: int = 512
    free_elements_sbuf: int = 64 * 1024
    free_elements_psum: int = 4 * 1024
    dimensions: int = 5
    generation: int = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run.

    Attributes:
        reverse: turns of affine loops from the last to the first. Outputs that differ from those
            of the other order by more than rounding depend on the order.
        reverse_instances: program instances from the last to the first.
        poison: fill memory that was not written with NaN, or with a sentinel in integers. Reads of
            it that reach an output are reported in any case.
        record: list the instructions.
    """

    limits: Limits = field(default_factory=Limits)
    reverse: bool = False
    reverse_instances: bool = False
    poison: bool = True
    record: bool = True


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a kernel.

    Attributes:
        severity: an error is wrong on the chip or in the language; a warning may cost time or
            depends on the compiler.
        file, line: of the user's innermost statement; line is 1-based, 0 where there is none.
    """

    kind: FaultKind
    severity: Literal["error", "warning"]
    message: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class KernelFault(Exception):  # noqa: N818 (a fault of the kernel, not of this program)
    """A kernel that cannot go on, with what is wrong."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class UnknownName(AttributeError):  # noqa: N818
    """A name of the vendor's modules that the simulator does not have."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """One launch.

    Attributes:
        outputs: what the kernel returned, an array or a tuple of arrays; None where it stopped at
            an error, which is the last of ``faults``.
        records: its instructions, equal ones of one line counted once.
        faults: in the order in which they were found, one for each kind and line.
        sbuf_peak, psum_peak: most bytes of one partition that tiles took at once, each from its
            first use to its last, in the order in which the simulator runs.
    """

    outputs: Any
    records: tuple[InstructionRecord, ...]
    faults: tuple[Fault, ...]
    sbuf_peak: int
    psum_peak: int

    @property
    def errors(self) -> tuple[Fault, ...]:
        return tuple(fault for fault in self.faults if fault.severity == "error")
