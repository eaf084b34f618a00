"""Which constexprs are tile sizes, of what, and which of them may change."""

import pytest
from rewrite_cases import HERE, example, example_context, issue_at

from tilewright.rewrites import Refusal, rewrites_for
from tilewright.rewrites.pointers import stores_whole_blocks
from tilewright.rewrites.tiles import TileKind, Tunable, tunable
from tilewright.source import parse_module


def of_example(name: str) -> Tunable:
    found = tunable(example(name), f"{name}_kernel")
    assert isinstance(found, Tunable)
    return found


def test_matmul_has_three_tile_sizes() -> None:
    found = of_example("matmul")
    assert found.kind is TileKind.DOT
    assert found.roles == {"m": "BLOCK_M", "n": "BLOCK_N", "k": "BLOCK_K"}
    assert found.values == {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}
    assert found.extents == {"m": "M", "n": "N", "k": "K"}
    assert found.operands == {"lhs": "a_ptr", "rhs": "b_ptr"}
    assert set(found.free) == {"BLOCK_M", "BLOCK_N", "BLOCK_K"}
    assert found.axes == ("BLOCK_M", "BLOCK_N")


def test_a_transposed_operand_keeps_the_roles() -> None:
    text = example("linear_gelu").text
    text = text.replace(
        "offs_k[:, None] * stride_wk + offs_n[None, :] * stride_wn",
        "offs_n[:, None] * stride_wn + offs_k[None, :] * stride_wk",
    )
    found = tunable(
        parse_module(text.replace("tl.dot(x, w)", "tl.dot(x, w.T)")), "linear_gelu_kernel"
    )
    assert isinstance(found, Tunable)
    assert found.roles == {"m": "BLOCK_M", "n": "BLOCK_N", "k": "BLOCK_K"}
    assert found.operands == {"lhs": "x_ptr", "rhs": "w_ptr"}


def test_a_row_walked_in_blocks_may_change_its_block() -> None:
    found = of_example("softmax")
    assert (found.kind, found.roles, found.free) == (TileKind.ROW, {"row": "BLOCK"}, ("BLOCK",))
    assert found.extents == {"row": "n_cols"}


def test_a_row_held_whole_may_not() -> None:
    module = example("softmax")
    (rewrite,) = rewrites_for("multi_pass_row")
    issue = issue_at(module, "multi_pass_row", "for start in")
    text = rewrite.apply(module, issue, example_context("softmax"))
    assert isinstance(text, str)
    found = tunable(parse_module(text), "softmax_kernel")
    assert isinstance(found, Tunable)
    assert (found.kind, found.free, found.values) == (TileKind.ROW, (), {"BLOCK": None})
    assert found.options == {"num_warps": 8}


def test_group_size_is_free_but_no_axis() -> None:
    module = parse_module((HERE / "golden" / "group_programs_lambda.after.py").read_text())
    found = tunable(module, "mm_kernel")
    assert isinstance(found, Tunable)
    assert found.roles == {"m": "TILE_M", "n": "TILE_N", "k": "TILE_K", "group": "GROUP_M"}
    assert found.values == {"TILE_M": 16, "TILE_N": 32, "TILE_K": 16, "GROUP_M": 8}
    assert set(found.axes) == {"TILE_M", "TILE_N"}


def test_kernels_without_tiles_or_launches_say_so() -> None:
    bare = "import triton\n@triton.jit\ndef k(x_ptr):\n    pass\n"
    without = tunable(parse_module(bare), "k")
    assert isinstance(without, Refusal)
    assert "0 launches" in without.reason
    launched = tunable(parse_module(bare + "def run(x):\n    k[(1,)](x)\n"), "k")
    assert isinstance(launched, Refusal)
    assert "no constexpr" in launched.reason


STORED = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, y_ptr, n, described, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs)
    block = tl.make_block_ptr(y_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    descriptor = tl.make_tensor_descriptor(y_ptr, [n], [1], [BLOCK])
    {store}
"""


@pytest.mark.parametrize(
    ("store", "whole"),
    [
        ("tl.store(block, x)", True),
        ("descriptor.store([0], x)", True),
        ("tl.store(y_ptr + offs, x)", False),
        ("tl.store(block, x); tl.store(y_ptr + offs, x)", False),
        ("tl.store(tl.advance(block, (BLOCK,)), x)", False),
        ("described.store([0], x)", False),
        ("pass", False),
    ],
)
def test_which_kernels_store_whole_blocks(store: str, whole: bool) -> None:
    module = parse_module(STORED.format(store=store))
    assert stores_whole_blocks(module, module.kernels[0]) is whole
