"""Constants that belong together: which tile sizes a tuner may change, and what changes along.

Each file of ``tied/`` has a constant that something else depends on, in one of the places where
people put it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rewrite_cases import HERE

from tilewright.hardware.chips import chip
from tilewright.rewrites import Refusal
from tilewright.rewrites.launch_config import set_launch_config
from tilewright.rewrites.tiles import Tunable, tunable
from tilewright.source import Module, parse_module
from tilewright.source.model import Kernel
from tilewright.strategies.menus import Setting, menu, neighbours
from tilewright.targets.model import ArgumentFacts, LaunchFacts
from tilewright.targets.registry import parse_target

CUDA = parse_target("cuda:90")
TIED = HERE / "tied"

FREE, LESS, HELD, COMPARED = "free", "a divisor", "held", "only by comparing"
EXPECTED: dict[str, dict[str, str]] = {
    "attention_in_three": {
        "scores_kernel.BLOCK_M": COMPARED,
        "scores_kernel.BLOCK_N": COMPARED,
        "scores_kernel.D": HELD,
        "softmax_kernel.BLOCK": FREE,
        "values_kernel.BLOCK_M": COMPARED,
        "values_kernel.BLOCK_K": COMPARED,
        "values_kernel.D": HELD,
    },
    "block_quantize": {"quantize_kernel.BLOCK": HELD},
    "by_default": {"square_kernel.BLOCK": FREE},
    "centred_tiles": {"centre_kernel.TILE": HELD},
    "dequantize": {"dequantize_kernel.BLOCK": HELD},
    "experts": {
        "experts_kernel.BLOCK_M": HELD,
        "experts_kernel.BLOCK_N": FREE,
        "experts_kernel.BLOCK_K": FREE,
    },
    "grid_by_hand": {"double_kernel.BLOCK": FREE},
    "grid_function": {"halve_kernel.BLOCK": FREE},
    "grouped_programs": {
        "grouped_kernel.BLOCK_M": FREE,
        "grouped_kernel.BLOCK_N": FREE,
        "grouped_kernel.BLOCK_K": FREE,
        "grouped_kernel.GROUP_M": FREE,
    },
    "head_dim": {
        "attention_kernel.BLOCK_M": FREE,
        "attention_kernel.BLOCK_N": FREE,
        "attention_kernel.BLOCK_D": HELD,
    },
    "histogram": {"total_kernel.BINS": HELD},
    "largest": {"largest_kernel.BLOCK": HELD},
    "no_mask": {
        "product_kernel.BLOCK_M": FREE,
        "product_kernel.BLOCK_N": FREE,
        "product_kernel.BLOCK_K": LESS,
    },
    "noise": {"noise_kernel.BLOCK": COMPARED},
    "norm_backward": {"weight_kernel.BLOCK": FREE},
    "rounds_down": {"negate_kernel.BLOCK": LESS},
    "scaled_product": {
        "scaled_kernel.BLOCK_M": FREE,
        "scaled_kernel.BLOCK_N": FREE,
        "scaled_kernel.BLOCK_K": FREE,
        "scaled_kernel.GROUP_SIZE": HELD,
    },
    "scan_twice": {"blocks_kernel.BLOCK": HELD, "before_kernel.BLOCK": COMPARED},
    "shared_settings": {"add_one_kernel.BLOCK": HELD, "times_two_kernel.BLOCK": HELD},
    "split_k": {
        "partial_kernel.BLOCK_M": FREE,
        "partial_kernel.BLOCK_N": FREE,
        "partial_kernel.BLOCK_K": FREE,
        "add_kernel.BLOCK": FREE,
    },
    "tuned_with_buffer": {"sums_kernel.BLOCK": HELD},
    "twice_the_block": {"means_kernel.BLOCK": HELD, "shift_kernel.BLOCK": HELD},
}

SHAPES: dict[str, list[list[int]]] = {
    "attention_in_three": [[70, 16]] * 3,
    "by_default": [[300]],
    "experts": [[64, 40], [3, 40, 24]],
    "grid_by_hand": [[1024]],
    "grouped_programs": [[70, 40], [40, 50]],
    "head_dim": [[70, 16]] * 3,
    "no_mask": [[70, 64], [64, 50]],
    "norm_backward": [[20, 70]] * 2,
    "rounds_down": [[2048]],
    "scaled_product": [[40, 64], [40, 2], [64, 36]],
    "split_k": [[40, 90], [90, 36]],
}
"""Of files of which some constant may change without a comparison; ragged where they can be."""


def tied(name: str) -> Module:
    return parse_module((TIED / f"{name}.py").read_text(), f"{name}.py")


def tunables(module: Module) -> Iterator[tuple[Kernel, Tunable]]:
    for kernel in module.entry_kernels():
        found = tunable(module, kernel)
        if isinstance(found, Tunable):
            yield kernel, found


def verdict(found: Tunable, name: str) -> str:
    if name not in found.free:
        return HELD
    if found.doubts([name]):
        return COMPARED
    return LESS if name in found.limited else FREE


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_may_change_in_each_place(name: str) -> None:
    found = {
        f"{kernel.name}.{constant}": verdict(one, constant)
        for kernel, one in tunables(tied(name))
        for constant in one.roles.values()
    }
    assert found == EXPECTED[name]


def proposals(module: Module) -> Iterator[tuple[str, str]]:
    """(setting, text) of what a tuner would try without comparing results, each size once."""
    for kernel, found in tunables(module):
        facts = [ArgumentFacts(p.name, "int", "i32", 512) for p in kernel.parameters]
        launch = LaunchFacts(kernel.name, (), tuple(facts))
        on, now = chip(CUDA), Setting({}, {})
        seen: set[tuple[tuple[str, int], ...]] = set()
        for one in (*menu(found, launch, on), *neighbours(now, found, on)):
            key = tuple(sorted(one.values.items()))
            if not key or key in seen or found.doubts(one.values):
                continue
            seen.add(key)
            text = set_launch_config(module, kernel, one.values, {})
            if isinstance(text, str) and text != module.text:
                yield f"{kernel.name} {one}", text


@pytest.mark.slow
@pytest.mark.triton
def test_every_proposal_computes_the_same(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = []
    for name, shapes in SHAPES.items():
        before = TIED / f"{name}.py"
        made = list(proposals(tied(name)))
        assert bool(made) is (name != "grid_by_hand"), name
        # Of the many of a menu the first, and the last steps from what is there.
        for number, (setting, text) in enumerate([*made[:1], *made[-2:]]):
            after = tmp_path / f"{name}_{number}.py"
            after.write_text(text)
            inputs = [{"shape": shape, "dtype": "float32"} for shape in shapes]
            jobs.append(
                {"name": f"{name}: {setting}", "before": str(before), "after": str(after)}
                | {"entry": "run", "inputs": inputs}
            )
    todo, done = tmp_path / "jobs.json", tmp_path / "done.json"
    todo.write_text(json.dumps(jobs))
    command = [sys.executable, str(HERE / "run_pairs.py"), str(todo), str(done)]
    subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, check=True, timeout=400)
    results = json.loads(done.read_text())
    assert len(results) == len(jobs) > len(SHAPES)
    wrong = [one for one in results if not one["same_shape"] or one["nan_after"]]
    wrong += [one for one in results if one["largest"] > 1e-4]
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "kernel", "values", "reason"),
    [
        ("head_dim", "attention_kernel", {"BLOCK_D": 32}, "an extent of the tensor"),
        ("scan_twice", "blocks_kernel", {"BLOCK": 128}, "one value is stored for each tile"),
        ("dequantize", "dequantize_kernel", {"BLOCK": 128}, "one value is loaded for each tile"),
        ("centred_tiles", "centre_kernel", {"TILE": 128}, "of each tile by itself"),
        ("no_mask", "product_kernel", {"BLOCK_K": 64}, "only be a divisor of 32"),
        ("rounds_down", "negate_kernel", {"BLOCK": 2048}, "only be a divisor of 1024"),
        ("grid_by_hand", "double_kernel", {"BLOCK": 256}, "the grid does not follow BLOCK"),
        ("by_helper", "cube_kernel", {"BLOCK": 64}, ""),
        ("shared_settings", "add_one_kernel", {"BLOCK": 64}, "hides arguments"),
    ],
)
def test_what_would_come_apart_is_refused_with_the_reason(
    name: str, kernel: str, values: dict[str, int], reason: str
) -> None:
    made = set_launch_config(tied(name), kernel, values, {})
    if not reason:  # by the grid, which has to follow what a helper multiplies
        assert isinstance(made, str)
        assert "cube_kernel[(triton.cdiv(n, 64),)]" in made
        return
    assert isinstance(made, Refusal)
    assert reason in made.reason


def test_a_grid_that_rounds_down_follows_a_divisor() -> None:
    made = set_launch_config(tied("rounds_down"), "negate_kernel", {"BLOCK": 256}, {})
    assert isinstance(made, str)
    assert "BLOCK = 256\n    assert n % BLOCK == 0" in made


def test_a_tuner_is_not_given_what_the_host_has_used_before_the_launch() -> None:
    text = (TIED / "split_k.py").read_text()
    text = text.replace(
        "    c = torch.empty((M", "    BLOCK = 256\n    spare = [0] * BLOCK\n    c = torch.empty((M"
    )
    text = text.replace("M * N, 256", "M * N, BLOCK").replace("BLOCK=256)", "BLOCK=BLOCK)")
    module = parse_module(text, "split_k.py")
    (found,) = (one for kernel, one in tunables(module) if kernel.name == "add_kernel")
    assert found.ties["BLOCK"].followers == ("line 39 of the host code is computed from it",)
    assert verdict(found, "BLOCK") == COMPARED


def test_another_name_with_the_same_number_is_another_constant() -> None:
    text = (TIED / "grouped_programs.py").read_text()
    text = text.replace("    grid = (", "    TILE, ACROSS, DEEP = 32, 16, 32\n    grid = (")
    text = text.replace(
        "BLOCK_M=32, BLOCK_N=16, BLOCK_K=32", "BLOCK_M=TILE, BLOCK_N=16, BLOCK_K=DEEP"
    )
    text = text.replace("cdiv(M, 32)", "cdiv(M, TILE)")
    module = parse_module(text, "grouped_programs.py")
    ((_, found),) = tunables(module)
    assert found.doubts(["BLOCK_M", "BLOCK_K"]) == ()
    made = set_launch_config(module, "grouped_kernel", {"BLOCK_M": 64}, {})
    assert isinstance(made, str)
    assert "TILE, ACROSS, DEEP = 64, 16, 32" in made


def test_of_two_tiles_of_one_size_along_one_extent_each_has_its_axis() -> None:
    module = tied("attention_in_three")
    made = set_launch_config(module, "scores_kernel", {"BLOCK_M": 64}, {})
    assert isinstance(made, str)
    assert "scores_kernel[(triton.cdiv(T, 64), triton.cdiv(T, 32))]" in made
    made = set_launch_config(module, "scores_kernel", {"BLOCK_M": 128, "BLOCK_N": 16}, {})
    assert isinstance(made, str)
    assert "scores_kernel[(triton.cdiv(T, 128), triton.cdiv(T, 16))]" in made


def test_a_grid_that_does_not_show_whose_tiles_it_counts_is_left() -> None:
    text = (TIED / "grouped_programs.py").read_text().replace("BLOCK_N=16", "BLOCK_N=32")
    text = text.replace("N = b.shape[1]", "N = M").replace("(M, 32)", "(M, 32)")
    text = text.replace("cdiv(N, 16)", "cdiv(M, 32)").replace("c, M, N, K,", "c, M, M, K,")
    made = set_launch_config(parse_module(text), "grouped_kernel", {"BLOCK_M": 64}, {})
    assert isinstance(made, Refusal)
    assert "does not show which of its tiles are those of BLOCK_M" in made.reason
