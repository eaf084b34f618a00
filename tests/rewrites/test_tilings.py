"""Tilings are written into host code, read back, and refused where they cannot stand."""

from pathlib import Path

import pytest

from tilewright.evaluation.cascade import check_structure
from tilewright.evaluation.model import StepStatus
from tilewright.problems.model import Entry, EntryKind
from tilewright.rewrites.model import Refusal
from tilewright.rewrites.tilings import Rule, Tiling, tiling_in, written
from tilewright.source import parse_module
from tilewright.targets.registry import parse_target

ROOT = Path(__file__).parents[2]
SMALL = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 64, "num_warps": 4}
LARGE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "num_warps": 8}
LIST = Tiling((Rule("M", 128, False, SMALL), Rule("N", 1024, True, LARGE)), SMALL)
ROWS = Tiling((Rule("n_cols", 2048, True, {"BLOCK": 4096, "num_warps": 8}),),
              {"BLOCK": 1024, "num_warps": 4})  # fmt: skip


def put(text: str, kernel: str, tiling: Tiling) -> str | Refusal:
    module = parse_module(text, "kernel.py")
    found = module.kernel(kernel)
    assert found is not None
    return written(module, found, tiling, ("num_warps", "num_stages"))


def example(name: str) -> str:
    return (ROOT / f"examples/{name}.py").read_text("utf-8")


@pytest.mark.parametrize(("name", "tiling"), [("matmul", LIST), ("softmax", ROWS)])
def test_a_tiling_that_is_written_can_be_read_back(name: str, tiling: Tiling) -> None:
    text = put(example(name), f"{name}_kernel", tiling)
    assert isinstance(text, str)
    compile(text, "kernel.py", "exec")
    assert tiling_in(text, f"{name}_kernel") == tiling
    again = put(text, f"{name}_kernel", tiling)
    assert again == text
    steps = check_structure(
        parse_module(example(name), "kernel.py"), parse_module(text, "kernel.py"),
        Entry(EntryKind.FUNCTION, name), parse_target("cuda:90"), (3, 6), (),
    )  # fmt: skip
    assert steps.status is StepStatus.PASSED, steps.message


def test_grid_and_launch_follow_the_tiling() -> None:
    text = put(example("matmul"), "matmul_kernel", LIST)
    assert isinstance(text, str)
    assert "    tiling = tiling_of_matmul_kernel(M, N)\n    grid = (" in text
    assert 'triton.cdiv(M, tiling["BLOCK_M"]), triton.cdiv(N, tiling["BLOCK_N"])' in text
    assert 'num_warps=tiling["num_warps"]' in text


def test_what_a_rule_says_is_what_the_function_returns() -> None:
    text = put(example("matmul"), "matmul_kernel", LIST)
    assert isinstance(text, str)
    begin, end = text.index("def tiling_of"), text.index("# tilewright: tiling end")
    space: dict[str, object] = {}
    exec(text[begin:end], space)
    function = space["tiling_of_matmul_kernel"]
    assert callable(function)
    for m in (1, 128, 129):
        for n in (1024, 1025):
            assert function(m, n) == LIST.choice({"M": m, "N": n})
    assert function(129, 1025) == LARGE


def test_one_setting_of_a_tiling_is_changed_in_place() -> None:
    text = put(example("matmul"), "matmul_kernel", LIST)
    assert isinstance(text, str)
    changed = LIST.with_choice(2, {**SMALL, "num_warps": 16})
    new = put(text, "matmul_kernel", changed)
    assert isinstance(new, str)
    assert tiling_in(new, "matmul_kernel") == changed
    assert sum(a != b for a, b in zip(text.splitlines(), new.splitlines(), strict=True)) == 1


REFUSED = {
    "the host computes": (
        example("softmax").replace("BLOCK=1024", "BLOCK=2 * n_rows"),
        "the host computes BLOCK",
    ),
    "set elsewhere": (
        "SIZE = 1024\n" + example("softmax").replace("BLOCK=1024", "BLOCK=SIZE"),
        "is set outside the function",
    ),
    "a name that is taken": (
        example("softmax")
        .replace("n_rows, n_cols", "n_rows, tiling")
        .replace(", n_cols, x", ", tiling, x"),
        "variable named tiling",
    ),
    "a default": (
        example("softmax")
        .replace("def softmax(x: torch.Tensor)", "def softmax(x: torch.Tensor, block=1024)")
        .replace("BLOCK=1024", "BLOCK=block"),
        "is set outside the function",
    ),
    "an extent that comes late": (
        example("softmax")
        .replace("    softmax_kernel[", "    BLOCK = 1024\n    n = n_cols\n    softmax_kernel[")
        .replace("y, n_cols, x", "y, n, x")
        .replace("BLOCK=1024", "BLOCK=BLOCK"),
        "n is not known before the grid is",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_where_a_tiling_cannot_stand_it_is_refused(why: str) -> None:
    text, told = REFUSED[why]
    found = put(text, "softmax_kernel", ROWS)
    assert isinstance(found, Refusal)
    assert told in found.reason


def test_settings_that_name_other_constants_are_refused() -> None:
    odd = Tiling((Rule("M", 128, False, {"BLOCK_M": 32}),), SMALL)
    found = put(example("matmul"), "matmul_kernel", odd)
    assert isinstance(found, Refusal)


def test_another_function_between_the_markers_is_no_tiling_of_ours() -> None:
    text = put(example("matmul"), "matmul_kernel", LIST)
    assert isinstance(text, str)
    other = text.replace("if M <= 128:", "if M <= 2 * 64:")
    assert tiling_in(other, "matmul_kernel") is None
    assert isinstance(put(other, "matmul_kernel", LIST), Refusal)
