"""What a line's code tells of operations that the chip has no instructions for."""

import pytest

from tilewright.targets.assembly.emulation import Emulated, Mark, emulated, mark_of
from tilewright.targets.assembly.model import Instruction
from tilewright.targets.assembly.tiles import TileOp, tile_ops
from tilewright.targets.line_report import digest

TTGIR = """\
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%p: !tt.ptr<f16> loc("p"(#loc))) {
    %0 = arith.divsi %a, %b : tensor<1024xi32, #blocked> loc(#loc2)
    %1 = arith.divsi %pid, %b : i32 loc(#loc2)
    %2 = tt.fp_to_fp %x, rounding = rtne : tensor<16x8xf32> -> tensor<16x8xf8E5M2> loc(#loc3)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc = loc("k.py":1:1)
#loc2 = loc("k.py":2:5)
#loc3 = loc("k.py":3:9)
"""


def told(
    op: TileOp, marks: dict[Mark, int], stage: str = "ptx", instructions: int = 400
) -> dict[str, int]:
    return dict(emulated(stage, [op], marks, instructions, has_bf16=False))


def test_element_types_and_elements_a_thread_are_read_of_tiles_alone() -> None:
    found = [(op.name, op.elements, op.held) for op in tile_ops(TTGIR, "k.py") if op.elements]
    assert found == [("arith.divsi", ("i32",), 8), ("tt.fp_to_fp", ("f32", "f8e5m2"), 1)]


@pytest.mark.parametrize(
    ("stage", "opcode", "text", "mark"),
    [
        ("ptx", "div.s32", "@%p1 div.s32 \t%r5, %r4, %r3", Mark.DIVISION),
        ("ptx", "rem.u64", "rem.u64 %rd1, %rd2, %rd3", Mark.DIVISION_64),
        ("ptx", "div.full.f32", "div.full.f32 %r1, %r2, %r3", None),
        ("ptx", "mov.b64", "mov.b64 %rd6, __cudart_i2opi_f", Mark.REDUCTION),
        ("ptx", "fma.rn.bf16x2", "fma.rn.bf16x2 %r1, %r2, %r3, %r4", Mark.BF16),
        ("ptx", "atom.relaxed.gpu.global.cas.b32", "atom.relaxed.gpu.global.cas.b32", Mark.SWAP),
        ("ptx", "atom.global.gpu.acq_rel.add.f32", "atom.global.gpu.acq_rel.add.f32", None),
        ("amdgcn", "s_mov_b32", "s_mov_b32 s6, 0xfe5163ab", Mark.REDUCTION),
        ("amdgcn", "global_atomic_cmpswap_b32", "global_atomic_cmpswap_b32 v1", Mark.SWAP),
        ("xe-asm", "math.inv", "math.inv (16|M0) r1:f r2:f", None),
    ],
)
def test_instructions_that_tell(stage: str, opcode: str, text: str, mark: Mark | None) -> None:
    assert mark_of(stage, Instruction(1, opcode, text)) is mark


def test_a_division_of_single_numbers_is_none_of_the_tile_on_its_line() -> None:
    tile = TileOp("arith.divsi", 2, "#loc2", 0, elements=("i32",), held=8)
    assert told(tile, {Mark.DIVISION: 8}) == {Emulated.DIVISION: 8}
    assert told(tile, {Mark.DIVISION: 1}) == {}


def test_amd_divides_by_a_reciprocal_that_one_high_product_refines() -> None:
    tile = TileOp("arith.remui", 2, "#loc2", 0, elements=("i32",), held=4)
    by_one = {Mark.RECIPROCAL: 1, Mark.HIGH_PRODUCT: 5}
    assert told(tile, by_one, "amdgcn") == {Emulated.DIVISION: 4}
    on_scalars = {Mark.UNIFORM_RECIPROCAL: 1, Mark.HIGH_PRODUCT: 4}
    assert told(tile, on_scalars, "amdgcn") == {Emulated.DIVISION: 4}
    by_a_constant = {Mark.HIGH_PRODUCT: 4}
    assert told(tile, by_a_constant, "amdgcn") == {}


def test_a_conversion_of_few_instructions_an_element_only_moves_bits() -> None:
    tile = TileOp("tt.fp_to_fp", 3, "#loc3", 0, elements=("f32", "f8e5m2"), held=8)
    assert told(tile, {}, instructions=200) == {Emulated.FP8: 8}
    assert told(tile, {}, instructions=48) == {}


def test_nothing_is_said_without_code_or_of_code_that_tells_nothing() -> None:
    tile = TileOp("arith.mulf", 2, "#loc2", 0, elements=("bf16",), held=8)
    assert told(tile, {}) == {Emulated.BF16: 8}
    assert told(tile, {}, "xe-asm") == {}
    assert all(not line.emulated for line in digest("cuda", {"ttgir": TTGIR}, "k.py").lines)
