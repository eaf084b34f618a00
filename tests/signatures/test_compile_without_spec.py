"""``tilewright compile`` of files that come with nothing but themselves."""

import json
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app
from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.errors import InputError
from tilewright.signatures.selection import inferred
from tilewright.signatures.sources import inferable
from tilewright.source import parse_module

pytestmark = pytest.mark.triton

HEAD = "import triton\nimport triton.language as tl\n"
SCALE = """
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + o, tl.load(x_ptr + o, o < n) * 2, o < n)
"""
TUNED = """
SIZES = sorted({2**i for i in range(6, 9)}, key=lambda size: -size)
CONFIGS = [triton.Config({"BLOCK": size}, num_warps=size // 64) for size in SIZES]

@triton.autotune(CONFIGS, key=["n"])
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + o, tl.load(x_ptr + o) * 2)
    else:
        tl.store(x_ptr + o, tl.load(x_ptr + o, o < n) * 2, o < n)
"""


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device("interpreter")


def compile_json(path: Path, *options: str) -> tuple[int, dict[str, Any]]:
    command = ["compile", str(path), "--target", "cuda:90", "--format", "json", *options]
    done = CliRunner().invoke(app, command)
    return done.exit_code, json.loads(done.stdout)


def written(folder: Path, text: str) -> Path:
    path = folder / "kernels.py"
    path.write_text(HEAD + dedent(text))
    return path


def test_a_file_alone_compiles_and_says_what_was_assumed(tmp_path: Path) -> None:
    status, found = compile_json(written(tmp_path, SCALE))
    assert status == 0
    (report,) = found["reports"]
    assert report["ok"]
    assert report["registers"]
    notes = "\n".join(found["notes"])
    assert "scale: there is neither a spec nor a captured launch; inferred" in notes
    assert "x_ptr, out_ptr: fp32 tensor, assumed" in notes
    assert "BLOCK: 1024, assumed" in notes


def test_options_go_before_what_is_assumed(tmp_path: Path) -> None:
    _, found = compile_json(written(tmp_path, SCALE), "--options", "BLOCK=64,num_warps=1")
    launch = found["reports"][0]["launch"]
    assert {a["name"]: a["value"] for a in launch["arguments"]}["BLOCK"] == 64
    assert launch["options"]["num_warps"] == 1


def test_an_absent_library_is_stood_in_for_and_told(tmp_path: Path) -> None:
    path = written(tmp_path, "from nolib.kernels import helper\n" + SCALE)
    status, found = compile_json(path)
    assert status == 0
    assert "imported with stand-ins for nolib" in found["notes"]


def test_a_kernel_that_cannot_be_judged_is_told_beside_the_others(tmp_path: Path) -> None:
    lost = """
    @triton.jit
    def lost(x_ptr, BLOCK: tl.constexpr):
        o = tl.arange(0, BLOCK)
        tl.store(x_ptr + o, helper(tl.load(x_ptr + o)))
    """
    path = written(tmp_path, "from nolib.kernels import helper\n" + SCALE + dedent(lost))
    status, found = compile_json(path)
    assert status == 0
    assert [report["kernel"] for report in found["reports"]] == ["scale"]
    (left,) = found["not_judged"]
    assert left["kernel"] == "lost"
    assert "has no nolib" in left["message"]
    _, found = compile_json(path, "--emit", "ttir")
    assert [stage["kernel"] for stage in found["stages"]] == ["scale"]
    assert found["not_judged"] == [left]


def test_a_kernel_that_importing_makes_none_of_is_not_said_to_be_refused(tmp_path: Path) -> None:
    nested = "def make():\n" + indent(SCALE, "    ") + "    return scale\n"
    path = written(tmp_path, nested + SCALE.replace("scale", "other"))
    status, found = compile_json(path)
    assert status == 0
    assert [report["kernel"] for report in found["reports"]] == ["other"]
    assert "define or import scale at the top level" in found["not_judged"][0]["message"]
    assert str(tmp_path) not in found["not_judged"][0]["message"]
    done = CliRunner().invoke(app, ["check", str(path), "--isolated", "--compiled", "cuda:90"])
    assert "does_not_compile" not in done.stdout
    assert f"{path}: scale: importing the file makes no kernel scale" in done.stderr
    path.write_text(HEAD + nested)
    alone = CliRunner().invoke(app, ["compile", str(path), "--target", "cuda:90"])
    assert isinstance(alone.exception, InputError)
    path.write_text(HEAD + nested + "made = make()\n")
    assert compile_json(path)[1]["reports"][0]["ok"]


def test_what_no_signature_helps_is_told_with_the_way_out(tmp_path: Path) -> None:
    status, found = compile_json(written(tmp_path, SCALE.replace("scale", "größe")))
    assert status == 1
    ((message,),) = [report["messages"] for report in found["reports"]]
    assert "ASCII" in message["text"]
    notes = "\n".join(found["notes"])
    assert str(tmp_path) not in notes
    assert "tilewright capture -- COMMAND" in notes


def test_a_script_that_ends_the_process_compiles_without_its_end(tmp_path: Path) -> None:
    path = written(tmp_path, "import sys\n" + SCALE + "\nsys.exit(3)\n")
    status, found = compile_json(path)
    assert status == 0
    assert "without line 10," in found["notes"][0]
    assert not any("stand-ins" in note for note in found["notes"])


def test_a_file_that_fails_when_imported_compiles_as_far_as_it_runs(tmp_path: Path) -> None:
    path = written(tmp_path, SCALE + "\nraise RuntimeError('no device here')\n")
    status, found = compile_json(path)
    assert status == 0
    assert any("imported without line" in note for note in found["notes"])
    assert any("no device here" in note for note in found["notes"])


def test_configurations_and_heuristics_are_those_of_the_imported_file(
    device: Device, tmp_path: Path
) -> None:
    path = written(tmp_path, TUNED)
    module = parse_module(path.read_text(), str(path))
    found = inferred(device, module, str(path), inferable(module), None)
    made = [(s.launch.argument("BLOCK"), s.launch.options) for s in found.signatures]
    assert [(b.value, options["num_warps"]) for b, options in made if b] == [
        (256, 4), (128, 2), (64, 1),
    ]  # fmt: skip
    even = found.signatures[0].launch.argument("EVEN")
    assert even is not None
    assert even.value is True
    words = "\n".join(found.signatures[0].assumptions)
    assert "EVEN: computed, as the kernel's heuristics compute it" in words


def test_one_configuration_is_taken_if_not_all_are_wanted(device: Device, tmp_path: Path) -> None:
    path = written(tmp_path, TUNED)
    module = parse_module(path.read_text(), str(path))
    (only,) = inferred(device, module, str(path), inferable(module)).signatures
    assert any("the first of its 3 autotune configurations" in w for w in only.assumptions)


def test_what_no_guess_fits_says_what_the_compiler_says(device: Device, tmp_path: Path) -> None:
    path = written(tmp_path, SCALE.replace("n) * 2", "n) * nowhere"))
    module = parse_module(path.read_text(), str(path))
    (only,) = inferred(device, module, str(path), inferable(module)).signatures
    assert "nowhere is not defined" in only.compiler_says


def test_functions_that_only_others_call_are_not_compiled_alone(tmp_path: Path) -> None:
    module = parse_module(
        HEAD + "@triton.jit\ndef add(a, b):\n    return a + b\n" + SCALE, "kernels.py"
    )
    assert [kernel.name for kernel in inferable(module)] == ["scale"]


def test_broken_input_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    path = written(tmp_path, "x = 1\n")
    assert "no Triton kernel" in refused(path)
    scale = written(tmp_path, SCALE)
    assert "write all, first, or how many" in refused(scale, "--configs", "few")
    assert "no compiler option" in refused(scale, "--options", "BLOK=64")
    scale.write_text(HEAD + SCALE.replace("def scale(", "def scale(("))
    assert f"{scale}:" in refused(scale)
    assert "does not parse" in refused(scale)


def refused(path: Path, *options: str) -> str:
    """What the command says against its input."""
    done = CliRunner().invoke(app, ["compile", str(path), "--target", "cuda:90", *options])
    assert isinstance(done.exception, InputError)
    return str(done.exception)
