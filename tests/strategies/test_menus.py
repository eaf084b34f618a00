"""Menus of configurations for a kernel's own launch."""

from pathlib import Path

import pytest

from tilewright.hardware.chips import chip
from tilewright.hardware.configs import dot_configs
from tilewright.rewrites.tiles import Tunable, tunable
from tilewright.source import parse_module
from tilewright.strategies.menus import MENU_SIZE, menu
from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright.targets.registry import parse_target

TEXT = (Path(__file__).parents[2] / "examples" / "matmul.py").read_text()
B70 = parse_target("xpu:bmg-g31")
SHAPE = (8192, 8192, 4096)


def in_blocks(text: str) -> str:
    """The same kernel, which stores its tile by a block pointer."""
    lines = text.splitlines()
    (store,) = [line for line in lines if line.lstrip().startswith("tl.store(")]
    indent = store[: len(store) - len(store.lstrip())]
    made = (
        "c_block = tl.make_block_ptr(c_ptr, (M, N), (stride_cm, stride_cn), "
        "(pid_m * BLOCK_M, pid_n * BLOCK_N), (BLOCK_M, BLOCK_N), (1, 0))"
    )
    stored = "tl.store(c_block, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))"
    at = lines.index(store)
    return "\n".join([*lines[:at], indent + made, indent + stored, *lines[at + 1 :]])


def launch() -> LaunchFacts:
    tensors = [ArgumentFacts(name, "tensor", "*fp16") for name in ("a_ptr", "b_ptr", "c_ptr")]
    sizes = [ArgumentFacts(n, "int", "i32", v) for n, v in zip("MNK", SHAPE, strict=True)]
    blocks = [ArgumentFacts(f"BLOCK_{n}", "constexpr", "constexpr", 32) for n in "MNK"]
    return LaunchFacts("matmul_kernel", (1,), (*tensors, *sizes, *blocks))


@pytest.mark.parametrize("whole", [False, True])
def test_a_kernel_that_stores_whole_blocks_gets_the_tiles_that_they_allow(whole: bool) -> None:
    found = tunable(parse_module(in_blocks(TEXT) if whole else TEXT), "matmul_kernel")
    assert isinstance(found, Tunable)
    assert found.whole_blocks is whole
    on = chip(B70)
    tiles = [(s.values["BLOCK_M"], s.values["BLOCK_N"]) for s in menu(found, launch(), on)]
    allowed = dot_configs(on, *SHAPE, 2, limit=MENU_SIZE, whole_blocks=whole)
    assert tiles == [(config.block_m, config.block_n) for config in allowed]
    assert ((256, 256) in tiles) is whole
