"""``tilewright inspect``: several chips, unsaved text, launches that are known or assumed."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Ended, run

ROOT = Path(__file__).parents[2]
SOFTMAX = (ROOT / "examples" / "softmax.py").read_text()


def inspect(*arguments: str, stdin: str | None = None) -> Ended:
    return run("inspect", *arguments, stdin=stdin)


def events(ended: Ended) -> list[dict[str, Any]]:
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.triton
def test_each_target_is_told_of_when_it_is_done() -> None:
    wanted = ("--target", "cuda:100", "--target", "hip:gfx942", "--stdin", "--format", "events")
    told = events(inspect("examples/softmax.py", *wanted, stdin=f"# unsaved\n{SOFTMAX}"))
    first, second = [event["kernel"] for event in told if event["event"] == "inspected"]
    assert [target["arch"] for target in first["targets"]] == ["100"]
    assert [report["target"]["arch"] for report in second["reports"]] == ["100", "gfx942"]
    assert (first["origin"], first["notes"]) == ("spec", [])
    assert [one["us"] > 0 for one in second["estimates"]] == [True, True]
    lines = f"# unsaved\n{SOFTMAX}".splitlines()
    assert lines[second["line"] - 1] == "@triton.jit"
    (result,) = [event["result"] for event in told if event["event"] == "result"]
    assert result["kernels"] == [second]


@pytest.mark.triton
def test_without_a_spec_what_was_assumed_is_said(tmp_path: Path) -> None:
    path = tmp_path / "softmax.py"
    path.write_text(SOFTMAX)
    said = inspect(str(path), "--target", "cuda:100").stdout
    assert (
        "softmax_kernel (launches: inferred: there is neither a spec nor a captured launch" in said
    )
    assert "  cuda:100: " in said
    assert "assumed" in said


@pytest.mark.triton
def test_a_stage_comes_with_the_source_line_of_each_of_its_lines() -> None:
    file, wanted = "examples/softmax.py::softmax_kernel", ("--target", "cuda:90", "--emit", "ptx")
    (told,) = events(inspect(file, *wanted, "--format", "events"))
    found = told["result"]
    assert (found["stage"], found["stages"][-1], found["origin"]) == ("ptx", "sass", "spec")
    loads = [n for n, line in enumerate(SOFTMAX.splitlines(), 1) if "tl.load(" in line]
    text = found["text"].splitlines()
    at = found["lines"][str(loads[0])]
    assert any("ld.global" in text[line - 1] for line in at)


@pytest.mark.triton
def test_a_file_that_cannot_be_imported_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "softmax.py"
    path.write_text(f"import no_such_module_at_all\n{SOFTMAX}\nno_such_module_at_all.go()\n")
    ended = inspect(str(path), "--target", "cuda:90")
    assert "no_such_module_at_all" in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("examples/softmax.py::other", "--target", "cuda:90"), "no launched kernel other"),
        (("examples/softmax.py", "--target", "cuda:91"), "did you mean cuda:90"),
        (("examples/softmax.py", "--target", "cuda:90", "--emit", "amdgcn"), "has no stage amdgcn"),
        (("nowhere.py", "--target", "cuda:90"), "no such file"),
    ],
)
@pytest.mark.triton
def test_what_cannot_be_inspected(arguments: tuple[str, ...], said: str) -> None:
    ended = inspect(*arguments)
    assert ended.returncode == 2
    assert said in ended.stderr
