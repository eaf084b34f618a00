"""Chips to compile for, what to compile with, and what the compiler said."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tilewright.errors import InputError


class TargetError(InputError):
    """A target that is not one of ``tilewright targets``."""


@dataclass(frozen=True, order=True)
class Target:
    """A chip family as its compiler names it: ``cuda:90``, ``hip:gfx942``, ``xpu:bmg-g31``.

    A NeuronCore goes by its product: ``neuron:trn2``.
    """

    backend: str
    arch: str

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


@dataclass(frozen=True)
class ArgumentFacts:
    """One argument of a captured launch.

    Attributes:
        name: the kernel parameter.
        kind: "tensor", "int", "float", "bool", "none" or "constexpr".
        type: Triton's name for it: "*fp16", "i32", "i64", "fp32", "u1", or "constexpr".
        value: the scalar's or constexpr's value; None for tensors.
        shape, strides: of a tensor, in elements.
        divisible_by_16: what the JIT would specialize on (pointer bytes, or the integer).
    """

    name: str
    kind: str
    type: str
    value: int | float | bool | str | None = None
    shape: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None
    divisible_by_16: bool = False


@dataclass(frozen=True)
class LaunchFacts:
    """A launch as the host code made it, for one problem case.

    ``options`` are compiler options (num_warps, num_stages, ...) that were passed or came from
    an autotune configuration; ``grid`` is the evaluated grid.
    """

    kernel: str
    grid: tuple[int, ...]
    arguments: tuple[ArgumentFacts, ...]
    options: Mapping[str, int | float | bool | str] = field(default_factory=dict)

    def argument(self, name: str) -> ArgumentFacts | None:
        return next((a for a in self.arguments if a.name == name), None)

    @property
    def settings(self) -> Mapping[str, object]:
        """Constexprs and compiler options."""
        constexprs = {a.name: a.value for a in self.arguments if a.kind == "constexpr"}
        return {**constexprs, **self.options}


def in_a_line(settings: Mapping[str, object]) -> str:
    """Settings as one writes them: ``BLOCK=1024 num_warps=8``."""
    return " ".join(f"{name}={as_written(value)}" for name, value in settings.items())


def as_written(value: object) -> str:
    """A constexpr's value as one writes it, without the marks that keep its kind in JSON."""
    if not isinstance(value, str) or not value.startswith("triton."):
        return str(value)
    kind, _, rest = value.partition(":")
    if kind != "triton.tuple":
        return rest
    items = [as_written(item) for item in json.loads(rest)]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


@dataclass(frozen=True)
class CompileMessage:
    """An error or warning; ``line`` is 1-based in the user's file, None if none was given."""

    text: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Access:
    """Equal memory instructions of one source line.

    Attributes:
        kind: "load", "store", "atomic", "async_copy", "tma", "block2d_load" or "block2d_store".
        space: "global" or "shared".
        bits: that one thread moves with one of them; None where one moves a tile for many threads.
        count: of them in the code, however often they run.
        best_bits: the widest that the line's tile allows, by its element type and the elements a
            thread holds; None: not known.
    """

    kind: str
    space: str
    bits: int | None
    count: int
    best_bits: int | None = None


@dataclass(frozen=True)
class LineReport:
    """What the compiler made of one line of the user's file, 1-based.

    Attributes:
        instructions: of the machine code, or of PTX where that was not disassembled.
        tensor: tensor instructions by kind: "wgmma", "mma", "tcgen05_mma", "mfma", "wmma", "dpas".
        dots: matrix products that the line asks for, before they become instructions.
        conversions: changes of layout between threads that are left after optimization.
        loop_depth: loops of the kernel around the line.
        emulated: operations a thread makes that the chip has no instruction for, by
            ``targets.assembly.emulation.Emulated``; Intel's code does not tell.
    """

    line: int
    instructions: int
    accesses: tuple[Access, ...] = ()
    tensor: Mapping[str, int] = field(default_factory=dict)
    dots: int = 0
    conversions: int = 0
    spill_loads: int = 0
    spill_stores: int = 0
    fp64: int = 0
    transcendental: int = 0
    barriers: int = 0
    loop_depth: int = 0
    emulated: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CompileReport:
    """What a real compiler made of one kernel, for one target and one launch.

    Attributes:
        registers: a thread's registers (NVIDIA), vector registers (AMD); None if unknown.
        spill_bytes: bytes of spilled registers a thread, stores and loads; None if unknown.
        shared_bytes: shared memory a program takes.
        shared_limit: what the target allows a program, in bytes; None if unknown.
        toolchain: which compilers made it, with versions.
        seconds: wall time; cached tells that it came from a cache.
        lines: what was made of each line, in order; empty where it was not requested or unknown.
    """

    target: Target
    kernel: str
    launch: LaunchFacts
    ok: bool
    messages: tuple[CompileMessage, ...] = ()
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    shared_limit: int | None = None
    code_bytes: int | None = None
    toolchain: str = ""
    seconds: float = 0.0
    cached: bool = False
    details: Mapping[str, int | float | str] = field(default_factory=dict)
    lines: tuple[LineReport, ...] = ()


@dataclass(frozen=True)
class StageText:
    """What a kernel reads like at one stage of its compilation; ``missing`` says why it has none.

    The module that was compiled, and modules next to it, are named in it without their folder.
    """

    stage: str
    text: str | None
    missing: str = ""


STAGES: Mapping[str, tuple[str, ...]] = {
    "cuda": ("ttir", "ttgir", "llir", "ptx", "sass"),
    "hip": ("ttir", "ttgir", "llir", "amdgcn"),
    "xpu": ("ttir", "ttgir", "llir", "spirv", "xe-asm"),
    "neuron": (),
}
"""The stages of each backend that have a text, in their order."""

MACHINE_CODE = {"cuda": "sass", "hip": "amdgcn", "xpu": "xe-asm", "neuron": ""}
"""The stage of each backend that is the chip's own; empty where Tilewright runs no compiler."""
