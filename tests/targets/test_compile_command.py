"""``tilewright compile``: texts of stages, instructions of lines, two variants side by side."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tilewright.cli.compile_variants import Variant, variant, with_options
from tilewright.cli.main import app
from tilewright.errors import InputError
from tilewright.targets import ArgumentFacts, LaunchFacts, Target

MATMUL = str(Path(__file__).parents[2] / "examples" / "matmul.py")
LAUNCH = LaunchFacts(
    "k", (1,), (ArgumentFacts("BLOCK_M", "constexpr", "constexpr", 32),), {"num_warps": 4}
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["compile", MATMUL, *arguments])


def run_json(*arguments: str) -> Any:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_variants_own_options_come_before_those_for_all() -> None:
    found = variant("cuda:90,num_warps=8", "num_warps=4,num_stages=2")
    assert found == Variant(Target("cuda", "90"), {"num_warps": 8, "num_stages": 2})


def test_an_option_sets_a_constexpr_or_what_compilers_take() -> None:
    changed = with_options(LAUNCH, {"BLOCK_M": 64, "num_warps": 8})
    assert changed.arguments[0].value == 64
    assert changed.options == {"num_warps": 8}
    assert changed.grid == LAUNCH.grid


def test_an_option_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(InputError, match=r"num_warp is no compiler option.*\(BLOCK_M\)"):
        with_options(LAUNCH, {"num_warp": 8})
    with pytest.raises(InputError, match="cannot read option 'num_warps'"):
        variant("cuda:90,num_warps")


@pytest.mark.triton
def test_a_stage_is_printed_with_its_source_lines() -> None:
    result = run("--target", "cuda:90", "--emit", "ptx")
    assert result.exit_code == 0
    assert ".entry matmul_kernel" in result.stdout
    assert "// matmul.py:26: pid_m = tl.program_id(0)" in result.stdout


@pytest.mark.triton
def test_a_stage_as_data_says_which_of_its_lines_a_source_line_became() -> None:
    (stage,) = run_json("--target", "hip:gfx942", "--emit", "amdgcn")["stages"]
    text = stage["text"].splitlines()
    dot = next(n for n, counts in stage["instructions_by_line"].items() if "mfma" in counts)
    became = [text[at - 1] for at in stage["lines"][dot]]
    assert sum("v_mfma" in line for line in became) == stage["instructions"]["mfma"]


@pytest.mark.triton
def test_instructions_of_each_source_line() -> None:
    result = run("--target", "cuda:80", "--lines")
    assert result.exit_code == 0
    assert "tl.load(a_ptrs" in result.stdout
    assert "async_copy" in result.stdout


@pytest.mark.triton
def test_two_variants_side_by_side() -> None:
    first, second = run_json("--compare", "cuda:90", "cuda:80,num_warps=8")["compared"]
    assert (first["variant"], second["variant"]) == ("cuda:90", "cuda:80,num_warps=8")
    assert second["reports"][0]["launch"]["options"]["num_warps"] == 8
    result = run("--compare", "cuda:90", "cuda:80,num_warps=8")
    assert "shared memory allowed" in result.stdout
    assert "232448 B" in result.stdout
    assert "166912 B" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "cuda:90", "--emit", "amdgcn"), "it has ttir, ttgir, llir, ptx, sass"),
        (("--target", "cuda:90", "--emit", "ptx", "--lines"), "give one of them"),
        ((), "which chip?"),
    ],
)
def test_what_cannot_be_shown_is_said(arguments: tuple[str, ...], words: str) -> None:
    result = run(*arguments)
    assert result.exit_code != 0
    assert words in str(result.exception) + result.output
