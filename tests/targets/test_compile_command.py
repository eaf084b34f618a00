"""``tilewright compile``: texts of stages, instructions of lines, two variants side by side."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tilewright.cli.app import app
from tilewright.cli.compile_options import variant
from tilewright.cli.compile_tables import line_in_words
from tilewright.cli.compile_versions import side_of
from tilewright.errors import InputError
from tilewright.inspection.variants import Variant, with_options
from tilewright.targets.model import Access, ArgumentFacts, LaunchFacts, LineReport, Target

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


def test_an_option_s_value_is_a_number_where_it_reads_as_one() -> None:
    found = variant("cuda:90", "A=64,B=1e-5,C=-.5,D=True,E=gelu,F=nan,G=fp8e4b15").options
    assert found == {
        "A": 64, "B": 1e-5, "C": -0.5, "D": True, "E": "gelu", "F": "nan", "G": "fp8e4b15",
    }  # fmt: skip
    assert isinstance(found["A"], int)


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
    assert "async copy 128b x3" in result.stdout
    assert "| acc += tl.dot" in result.stdout  # in a loop


@pytest.mark.triton
def test_two_variants_side_by_side() -> None:
    first, second = run_json("--compare", "cuda:90", "cuda:80,num_warps=8")["compared"]
    assert (first["variant"], second["variant"]) == ("cuda:90", "cuda:80,num_warps=8")
    assert second["reports"][0]["launch"]["options"]["num_warps"] == 8
    assert first["reports"][0]["occupancy"]["limited_by"] == ["registers"]
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


BROKEN = "\n\ndef broken(:\n    pass\n"


@pytest.mark.parametrize(
    "command",
    [
        ("compile",),
        ("compile", "--emit", "ptx"),
        ("compile", "--captured", "nowhere"),
        ("tune",),
        ("profile",),
    ],
)
def test_a_file_that_does_not_parse_is_said_so_with_its_line(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    text = Path(MATMUL).read_text() + BROKEN
    path = tmp_path / "matmul.py"
    path.write_text(text)
    name, *more = command
    result = CliRunner().invoke(app, [name, str(path), "--target", "cuda:90", *more])
    line = text.splitlines().index("def broken(:") + 1
    assert isinstance(result.exception, InputError)
    assert (result.exception.path, result.exception.line) == (str(path), line)
    assert "does not parse (invalid syntax)" in str(result.exception)
    with pytest.raises(InputError, match=f"{path.name}:{line}: this line does not parse"):
        side_of(str(path), path, "cuda:90", "")


@pytest.mark.triton
def test_a_broken_kernel_is_not_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(
        "import triton\n\n@triton.jit\ndef k(x_ptr, N: tl.constexpr):\n    x = tl.arange(0, N\n"
    )
    for arguments in (["compile", str(path)], ["compile", f"{path}::k"], ["inspect", str(path)]):
        result = CliRunner().invoke(app, [*arguments, "--target", "cuda:90"])
        assert f"{path}:5: this line does not parse" in str(result.exception)


def test_a_side_to_compare_is_a_target_a_file_or_a_revision(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    git = ["git", "-c", "user.name=me", "-c", "user.email=me@example.com"]
    path.write_text("old = 1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    path.write_text("new = 1\n")
    assert side_of("cuda:80,num_warps=8", path, None, "").variant.options == {"num_warps": 8}
    assert side_of("HEAD", path, "cuda:90", "").text == "old = 1\n"
    assert side_of(str(path), path, "cuda:90", "num_warps=2").text == "new = 1\n"
    with pytest.raises(InputError, match="for which chip"):
        side_of("HEAD", path, None, "")
    with pytest.raises(InputError, match=r"write a target .* a file .* or a git revision"):
        side_of("no-such-branch", path, "cuda:90", "")


@pytest.mark.triton
def test_two_versions_of_a_file_side_by_side(tmp_path: Path) -> None:
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    text = Path(MATMUL).read_text()
    old.write_text(text)
    new.write_text(text.replace("a.to(tl.float32), b.to(tl.float32)", "a, b"))
    result = run(
        "--compare", str(old), str(new), "--target", "hip:gfx942", "--format", "json",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    first, second = (one["reports"][0] for one in json.loads(result.stdout)["compared"])
    assert first["details"]["mfma"] > second["details"]["mfma"]  # in halves, not in tf32


def test_a_line_s_report_in_words() -> None:
    line = LineReport(
        7, 20,
        (Access("load", "global", 32, 4, 128), Access("load", "shared", 128, 2),
         Access("block2d_load", "global", None, 1)),
        {"dpas": 8}, dots=1, conversions=1, spill_loads=3,
    )  # fmt: skip
    assert line_in_words(line) == (
        "load 32b of 128b x4, shared load 128b x2, block2d load x1, dpas x8, layout change x1, "
        "spill load x3"
    )
    assert line_in_words(LineReport(8, 4, dots=1)) == "no tensor instruction on it"
    assert line_in_words(LineReport(9, 80, emulated={"integer_division": 8})) == (
        "integer division x8 in many instructions"
    )
