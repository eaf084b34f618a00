"""What the text says does not compile, with ``check --compiled``."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.analysis import AnalysisContext, analyze
from tilewright.cli.app import app
from tilewright.compiled.claims import settled
from tilewright.source import parse_module
from tilewright.targets.model import CompileReport, LaunchFacts, Target

pytestmark = pytest.mark.triton

_KERNEL = """
import torch
import triton
import triton.language as tl

LIMIT = 3

@triton.jit
def first(x_ptr, y_ptr, n, IS_SHORT: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    {line}
    tl.store(y_ptr + offs, x, mask=offs < n)

def run(x, is_short):
    y = torch.empty_like(x)
    first[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), IS_SHORT=is_short, BLOCK=1024)
    return y
"""
_REFUSED = _KERNEL.format(line="x = x**2.0")
_BRANCH = "if IS_SHORT:\n        x = x * LIMIT"


def _found(path: Path, text: str, *options: str) -> list[tuple[str, str, str]]:
    path.write_text(text)
    command = ["check", str(path), "--isolated", "--format", "json", "--select", "correctness"]
    done = CliRunner().invoke(app, [*command, *options])
    (file,) = json.loads(done.stdout)["files"]
    return [(issue["id"], issue["level"], issue["message"]) for issue in file["issues"]]


def test_the_compiler_confirms_what_the_text_says_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "first.py"
    ((issue, level, message),) = _found(file, _REFUSED)
    assert (issue, level) == ("unsupported_syntax", "error")
    ((again, still, confirmed),) = _found(file, _REFUSED, "--compiled", "cuda:90,cuda:80")
    assert (again, still) == (issue, level)
    added = confirmed.removeprefix(message)
    assert re.fullmatch(r" Confirmed: triton [\d.]+ for cuda:90 and cuda:80: .*\*\*.*\.", added)


def test_a_callers_refusal_confirms_what_is_said_of_a_called_function(tmp_path: Path) -> None:
    text = (
        _KERNEL.format(line="x = grown(x)")
        + """
@triton.jit
def grown(x):
    return x * LIMIT
"""
    )
    ((issue, level, message),) = _found(tmp_path / "first.py", text, "--compiled", "cuda:90")
    assert (issue, level) == ("global_not_constexpr", "error")
    assert " Confirmed: triton " in message


def test_a_branch_that_an_inferred_launch_leaves_out_is_not_settled(tmp_path: Path) -> None:
    text = _KERNEL.format(line=_BRANCH)
    told = _found(tmp_path / "first.py", text)
    assert told == _found(tmp_path / "first.py", text, "--compiled", "cuda:90")
    assert [level for _, level, _ in told] == ["warning"]


@pytest.mark.parametrize(("inferred", "level"), [(set(), "hint"), ({"first"}, "warning")])
def test_what_compiles_is_a_hint(inferred: set[str], level: str) -> None:
    module = parse_module(_KERNEL.format(line=_BRANCH))
    told = [i for i in analyze(module, AnalysisContext()) if i.id == "global_not_constexpr"]
    taken = LaunchFacts("first", (1,), ())
    report = CompileReport(Target("cuda", "90"), "first", taken, ok=True, toolchain="triton 3.9.0")
    (after,), _ = settled(module, told, [], [report], inferred)
    assert after.level == level
    assert after.message.endswith("But it compiled: triton 3.9.0 for cuda:90.") is (level == "hint")


def test_a_compiler_of_another_version_settles_nothing(tmp_path: Path) -> None:
    options = ("--triton", "3.3", "--compiled", "cuda:90")
    told = _found(tmp_path / "first.py", _REFUSED, *options)
    levels = {issue: level for issue, level, _ in told}
    assert levels == {"does_not_compile": "hint", "unsupported_syntax": "error"}
    assert not any("Confirmed" in message for _, _, message in told)


def test_a_kernel_that_fails_elsewhere_confirms_nothing(tmp_path: Path) -> None:
    line = "y = tl.no_such_function(x)\n    x = x**2.0"
    told = _found(tmp_path / "first.py", _KERNEL.format(line=line), "--compiled", "cuda:90")
    confirmed = {issue: " Confirmed" in message for issue, _, message in told}
    assert confirmed == {"removed_api": True, "unsupported_syntax": False}
