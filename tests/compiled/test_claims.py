"""What the text says does not compile, with ``check --compiled``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app

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

def run(x):
    y = torch.empty_like(x)
    first[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), IS_SHORT=False, BLOCK=1024)
    return y
"""
_REFUSED = "x = x**2.0"
_BRANCH = "if IS_SHORT:\n        x = x * LIMIT"


def _found(path: Path, line: str, *options: str) -> list[tuple[str, str, str]]:
    path.write_text(_KERNEL.format(line=line))
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
    assert added.startswith(" Confirmed: refused by triton ")
    assert added.endswith(" for cuda:90 and cuda:80.")


def test_what_compiles_is_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "first.py"
    ((issue, level, message),) = _found(file, _BRANCH)
    assert (issue, level) == ("global_not_constexpr", "error")
    ((again, less, withdrawn),) = _found(file, _BRANCH, "--compiled", "cuda:90")
    assert (again, less) == (issue, "hint")
    added = withdrawn.removeprefix(message)
    assert added.startswith(" But it compiled: triton ")
    assert added.endswith(" for an inferred launch, which may leave out this branch.")


def test_a_compiler_of_another_version_settles_nothing(tmp_path: Path) -> None:
    options = ("--triton", "3.3", "--compiled", "cuda:90")
    told = _found(tmp_path / "first.py", _REFUSED, *options)
    assert [(issue, level) for issue, level, _ in told] == [
        ("does_not_compile", "hint"),
        ("unsupported_syntax", "error"),
    ]
    assert not any("Confirmed" in message for _, _, message in told)


def test_a_kernel_that_fails_elsewhere_confirms_nothing(tmp_path: Path) -> None:
    line = f"y = tl.no_such_function(x)\n    {_REFUSED}"
    told = _found(tmp_path / "first.py", line, "--compiled", "cuda:90")
    confirmed = {issue: " Confirmed" in message for issue, _, message in told}
    assert confirmed == {"removed_api": True, "unsupported_syntax": False}
