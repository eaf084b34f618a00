"""What a chip has no instruction for, so that its compiler makes it of many others.

TTGIR tells what a line asks for, the code what became of it: a mark, an instruction that only such
a sequence has, or the absence of the chip's own. Of Intel's code no marks are known.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from tilewright.targets.assembly.model import Instruction
from tilewright.targets.assembly.tiles import TileOp


class Emulated(StrEnum):
    """What is emulated; counted in operations a thread makes, as they are in the code."""

    DIVISION = "integer_division"
    DIVISION_64 = "integer_division_64"
    REDUCTION = "range_reduction"
    BF16 = "bf16_arithmetic"
    FP8 = "fp8_conversion"
    ATOMIC = "atomic_loop"


class Mark(StrEnum):
    """What an instruction tells by itself."""

    DIVISION = "division"
    DIVISION_64 = "division_64"
    RECIPROCAL = "reciprocal"
    UNIFORM_RECIPROCAL = "uniform_reciprocal"
    HIGH_PRODUCT = "high_product"
    REDUCTION = "reduction"
    BF16 = "bf16"
    SWAP = "swap"


# Integer division: PTX has it as one instruction that ptxas expands. LLVM's sequence for AMD turns
# a reciprocal into an integer, refines it by a high product, and has another for each quotient.
# Sines and cosines reduce their argument by the bits of 2/pi: a table of CUDA's libdevice,
# constants in AMD's.
_MARKS: Mapping[str, re.Pattern[str]] = {
    "ptx": re.compile(
        rf"(?P<{Mark.DIVISION_64}>(?:div|rem)\.[su]64\b)"
        rf"|(?P<{Mark.DIVISION}>(?:div|rem)\.[su](?:8|16|32)\b)"
        rf"|(?P<{Mark.REDUCTION}>mov\.\w+ .*\b__cudart_i2opi_)"
        rf"|(?P<{Mark.BF16}>(?:add|sub|mul|fma)\.(?:\w+\.)*bf16)"
        rf"|(?P<{Mark.SWAP}>atom\.(?:\w+\.)*cas\b)"
    ),
    "amdgcn": re.compile(
        rf"(?P<{Mark.RECIPROCAL}>v_cvt_u32_f32)"
        rf"|(?P<{Mark.UNIFORM_RECIPROCAL}>s_cvt_u32_f32)"
        rf"|(?P<{Mark.HIGH_PRODUCT}>v_mul_hi_u32|v_mad_(?:co_)?u64_u32)"
        rf"|(?P<{Mark.BF16}>v_(?:pk_|dual_)?(?:add|mul|fma|fmac)_bf16)"
        rf"|(?P<{Mark.SWAP}>(?:global|flat|buffer)_atomic_cmpswap)"
        rf"|(?P<{Mark.REDUCTION}>.*\b0xfe5163ab\b)"
    ),
}
_DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui")
_BF16 = ("arith.addf", "arith.subf", "arith.mulf", "math.fma")
_CONVERSION, _ATOMIC = "tt.fp_to_fp", "tt.atomic_rmw"
_SLOW_CONVERSION = 8
"""Instructions an element from which on a conversion is no moving of bits any more."""


def mark_of(stage: str, one: Instruction) -> Mark | None:
    """What an instruction of a stage's text tells; None for most."""
    rule = _MARKS.get(stage)
    found = rule.match(one.text, one.text.find(one.opcode)) if rule else None
    return Mark(found.lastgroup) if found and found.lastgroup else None


def emulated(
    stage: str,
    ops: Iterable[TileOp],
    marks: Mapping[Mark, int],
    instructions: int,
    *,
    has_bf16: bool,
) -> Mapping[str, int]:
    """What of a line's operations is made of many instructions, by ``Emulated``.

    Args:
        marks: of the line's instructions.
        instructions: how many the line has in all.
        has_bf16: whether the kernel's code has arithmetic of bfloat16 anywhere.
    """
    if stage not in _MARKS or not instructions:
        return {}
    tiles = [op for op in ops if op.elements]
    found = {
        Emulated.DIVISION: _divisions(stage, tiles, marks, wide=False),
        Emulated.DIVISION_64: _divisions(stage, tiles, marks, wide=True),
        Emulated.REDUCTION: marks.get(Mark.REDUCTION, 0),
        Emulated.BF16: 0 if has_bf16 else _elements_per_thread(tiles, _BF16, "bf16"),
        Emulated.FP8: _fp8(tiles, instructions),
        Emulated.ATOMIC: _elements_per_thread(tiles, (_ATOMIC,)) if marks.get(Mark.SWAP) else 0,
    }
    return {str(kind): count for kind, count in found.items() if count}


def _divisions(stage: str, tiles: list[TileOp], marks: Mapping[Mark, int], *, wide: bool) -> int:
    """Divisions of each element of a tile by what the compiler does not know.

    Fewer than elements are of single numbers on the same line, or one for a run of neighbours.
    """
    held = _elements_per_thread(tiles, _DIVISIONS, "i64" if wide else "i32")
    if stage == "ptx":
        count = marks.get(Mark.DIVISION_64 if wide else Mark.DIVISION, 0)
    else:
        count = _quotients(marks, held, wide=wide)
    return count if held and count >= held else 0


def _quotients(marks: Mapping[Mark, int], held: int, *, wide: bool) -> int:
    """Quotients in AMD's code; of 64 bits it tells only that there are some."""
    refined = marks.get(Mark.RECIPROCAL, 0)
    if not refined and not marks.get(Mark.UNIFORM_RECIPROCAL):
        return 0
    return held if wide else marks.get(Mark.HIGH_PRODUCT, 0) - refined


def _fp8(tiles: list[TileOp], instructions: int) -> int:
    conversions = [op for op in tiles if op.name == _CONVERSION]
    if not any(element.startswith("f8") for op in conversions for element in op.elements):
        return 0
    held = sum(op.held for op in conversions)
    return held if instructions >= _SLOW_CONVERSION * held else 0


def _elements_per_thread(tiles: Iterable[TileOp], names: tuple[str, ...], element: str = "") -> int:
    """Elements that a thread holds of the tiles of such operations."""
    return sum(
        op.held for op in tiles if op.name in names and (not element or element in op.elements)
    )
