"""``check --executed`` runs host functions in the interpreter and reports what goes wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tilewright.cli.app import app

pytestmark = [pytest.mark.triton, pytest.mark.slow]

TEXT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, y_ptr, s_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols{OTHER})
    tl.store(y_ptr + row * cols + at, x * 2, mask=at < cols)
    tl.store(s_ptr + {PLACE}, tl.sum(x, 0))


def rows(x):
    n, cols = x.shape
    y, s = torch.empty_like(x), torch.empty(n)
    rows_kernel[(n,)](x, y, s, cols, B=triton.next_power_of_2(cols))
    return y, s


def refusing(x):
    raise ValueError("not for any x")
    rows_kernel[(1,)](x, x, x, 1, B=16)
"""


def _found(tmp_path: Path, **parts: str) -> tuple[list[tuple[str, int, str]], str]:
    file = tmp_path / "rows.py"
    text = TEXT
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    file.write_text(text)
    result = CliRunner().invoke(app, ["check", str(file), "--executed", "--format", "json"])
    (checked,) = json.loads(result.stdout)["files"]
    issues = checked["issues"]
    ran = [one for one in issues if "interpreter" in one["message"]]
    return [(one["id"], one["line"], one["message"]) for one in ran], result.stderr


def test_a_right_file_has_nothing_and_what_was_not_run_is_named(tmp_path: Path) -> None:
    found, said = _found(tmp_path, OTHER=", other=0.0", PLACE="row")
    assert found == []
    assert "refusing: not run: not for any x" in said


def test_programs_that_store_to_one_place_race_and_leave_the_rest_unwritten(
    tmp_path: Path,
) -> None:
    found, _ = _found(tmp_path, OTHER=", other=0.0", PLACE="0")
    known = {(issue, line) for issue, line, _ in found}
    assert ("output_not_fully_written", 7) in known
    assert all("x of shape [64, 128] (float32)" in message for _, _, message in found)


def test_masked_lanes_that_reach_a_sum_are_named_with_the_inputs(tmp_path: Path) -> None:
    found, _ = _found(tmp_path, OTHER="", PLACE="row")
    said = [message for issue, _, message in found if issue == "undefined_other"]
    assert said
    assert "masked lanes that have no `other`" in said[0]
    assert "not on a GPU" in said[0]
