"""``check --executed --model``: what a model calls wrong counts where a run shows it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_server import Answer, Request, serve

pytest.importorskip("openai", reason="needs openai: pip install 'tilewright[models]'")

pytestmark = [pytest.mark.triton, pytest.mark.slow]

FILE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def centered_kernel(x_ptr, y_ptr, cols, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0)
    middle = tl.sum(x, 0) / {COUNT}
    tl.store(y_ptr + row * cols + at, x - middle, mask=at < cols)


def centered(x):
    n, cols = x.shape
    y = torch.empty_like(x)
    centered_kernel[(n,)](x, y, cols, B=triton.next_power_of_2(cols))
    return y
"""
MODULE = """\
import torch


def reference_centered(x):
    wide = x.double()
    return (wide - wide.mean(1, keepdim=True)).to(x.dtype)


def calls_centered():
    torch.manual_seed(1)
    return [{"x": torch.randn(4, 16)}, {"x": torch.randn(3, 21) + 1}]
"""
FAULT = '{"faults": [{"function": "centered", "line": 11, "why": "It divides by the block."}]}'
NONE = '{"faults": []}'
NOTHING = '```python\nimport torch\n```\n```json\n{"places": []}\n```\n'


SCALED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, by, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * by, mask=at < n)


def scale(x, by):
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    scale_kernel[(triton.cdiv(x.numel(), 64),)]({X}, y, x.numel(), by, B=64)
    return {Y}


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return scale(x.contiguous(), by)

    @staticmethod
    def backward(ctx, dy):
        return scale(dy{DY}, ctx.by), None
"""
SCALED_MODULE = """\
import torch


def reference_scale(x, by):
    return (x.double() * by).to(x.dtype)


def calls_scale():
    return [{"x": torch.arange(130.0), "by": 2}]


def reference_Scaled(x, by):
    return reference_scale(x, by)


def calls_Scaled():
    return [{"x": torch.ones(3, 5), "by": 2}, {"x": torch.ones(3, 5), "by": 3}]
"""


def scaled(
    folder: Path,
    function: str,
    x: str = "x",
    y: str = "y",
    dy: str = "",
    forward: str = "scale(x.contiguous(), by)",
) -> list[str]:
    """Messages of the faults of the scaling file, one of whose functions the model suspects."""
    text = SCALED.replace("{X}", x).replace("{Y}", y).replace("{DY}", dy)
    text = text.replace("scale(x.contiguous(), by)", forward)
    fault = {"function": function, "line": 11, "why": "It is wrong."}
    return checked(folder, text, json.dumps({"faults": [fault]}), SCALED_MODULE)[0]


def checked(
    folder: Path, text: str, faults: str, module: str = MODULE, speed: str = NOTHING
) -> tuple[list[str], str]:
    """Messages of the issues that reviews raise, and what was said of the rest."""
    (folder / "centered.py").write_text(text)
    replies = {True: f"```python\n{module}```\n```json\n{faults}\n```\n", False: speed}
    command = [sys.executable, "-m", "tilewright", "check", "centered.py", "--executed"]
    with serve(lambda request, number: Answer(replies[_is_about_faults(request)])) as server:
        done = subprocess.run(
            [*command, "--model", "scripted", "--format", "json"],
            cwd=folder,
            env={
                **os.environ,
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "sk-check-0123456789",
                "TILEWRIGHT_HOME": str(folder / "home"),
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        asked = [_is_about_faults(request) for request in server.requests]
        assert sorted(asked) == [False, True]
    (file,) = json.loads(done.stdout)["files"]
    ids = ("result_of_other_operator", "lost_time")
    return [one["message"] for one in file["issues"] if one["id"] in ids], done.stderr


def _is_about_faults(request: Request) -> bool:
    return "name the faults" in request.messages[-1]["content"]


def test_a_named_fault_that_a_run_shows_is_reported_with_the_call(tmp_path: Path) -> None:
    (message,), _ = checked(tmp_path, FILE.replace("{COUNT}", "B"), FAULT)
    assert "x of shape [3, 21] (float32)" in message
    assert "1 of 2 calls agree" in message
    assert "line 11: It divides by the block." in message
    kept = next(
        one for one in (tmp_path / "home" / "reviews").iterdir() if "reference" in one.read_text()
    )
    assert kept.read_text().strip() == MODULE.strip()
    assert str(kept) in message


def test_a_named_fault_that_no_run_shows_is_not_reported(tmp_path: Path) -> None:
    assert checked(tmp_path, FILE.replace("{COUNT}", "cols"), FAULT)[0] == []


def test_a_difference_without_a_named_fault_is_not_reported(tmp_path: Path) -> None:
    assert checked(tmp_path, FILE.replace("{COUNT}", "B"), NONE)[0] == []


def test_a_reply_of_no_use_is_said(tmp_path: Path) -> None:
    found, said = checked(tmp_path, FILE.replace("{COUNT}", "B"), FAULT, "def calls_centered(:\n")
    assert found == []
    assert "centered.py: not reviewed: the module of the reply cannot be parsed" in said


def test_a_reference_that_fails_is_said(tmp_path: Path) -> None:
    found, said = checked(
        tmp_path, FILE.replace("{COUNT}", "B"), FAULT, MODULE.replace("wide.mean", "wide.meen")
    )
    assert found == []
    assert "centered: a review shows nothing of it: AttributeError" in said


def test_gradients_are_compared_in_any_layout(tmp_path: Path) -> None:
    (message,) = scaled(tmp_path, "Scaled.apply")
    assert "the gradient of x of the reference" in message
    assert "x of shape [3, 5] (float32), by = 3" in message
    assert scaled(tmp_path, "Scaled.apply", dy=".contiguous()") == []


def test_a_backward_pass_may_be_all_that_launches(tmp_path: Path) -> None:
    (message,) = scaled(tmp_path, "Scaled.apply", forward="x * by")
    assert "the gradient of x of the reference" in message
    assert scaled(tmp_path, "Scaled.apply", dy=".contiguous()", forward="x * by") == []


def test_a_result_that_is_not_returned_is_a_difference(tmp_path: Path) -> None:
    (message,) = scaled(tmp_path, "scale", y="None", dy=".contiguous()")
    assert "a tensor of shape [130] from the reference, NoneType here" in message


def test_an_error_in_a_kernel_counts(tmp_path: Path) -> None:
    (message,) = scaled(tmp_path, "scale", x="x.numel()", dy=".contiguous()")
    assert "in the kernel: " in message
    assert "The model says of line 11: It is wrong." in message


def test_a_line_that_the_file_lacks_is_reported_at_the_kernel(tmp_path: Path) -> None:
    text = FILE.replace("{COUNT}", "B")
    (message,), _ = checked(tmp_path, text, FAULT.replace('"line": 11', '"line": 999'))
    assert "1 of 2 calls agree" in message
    assert "line 0" not in message


SLOW = """\
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, by, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * by, mask=at < n)


def scale(x, by):
    y = torch.zeros_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), by, B=64)
    return y


class Scale(torch.nn.Module):
    def __init__(self, by):
        super().__init__()
        self.by = torch.nn.Parameter(torch.tensor([by]))

    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), self.by.item(), B=64)
        return y
"""
FASTER = (
    SLOW[: SLOW.index("def scale(x, by)")]
    + """\
def faster_scale(x, by):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), by, B=64)
    return y


def calls_scale():
    return [{"x": torch.arange(130.0), "by": 2.0}, {"x": torch.arange(64.0), "by": 3.0}]


@triton.jit
def scale_by_kernel(x_ptr, y_ptr, n, by_ptr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x * tl.load(by_ptr), mask=at < n)


def faster_Scale_forward(self, x):
    y = torch.empty_like(x)
    scale_by_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), self.by, B=64)
    return y


def calls_Scale_forward(Scale):
    return [{"self": Scale(2.0), "x": torch.arange(130.0)}]
"""
)


def lost_time(
    folder: Path, function: str, cost: str, module: str = FASTER
) -> tuple[list[str], str]:
    """What is reported of a place of lost time that the model names in the slow file."""
    place = {"function": function, "line": 14, "cost": cost, "why": "It is written twice."}
    speed = f"```python\n{module}```\n```json\n{json.dumps({'places': [place]})}\n```\n"
    return checked(folder, SLOW, NONE, "import torch\n", speed)


def test_lost_time_is_reported_where_the_named_cost_falls(tmp_path: Path) -> None:
    (message,), _ = lost_time(tmp_path, "scale", "launches")
    assert "scale with x of shape [130] (float32), by = 2.0: a model says: It is written" in message
    assert "the same results in 2 calls and needs 1 instead of 2 launches" in message
    assert "counted and not timed" in message


def test_a_method_is_called_of_an_object_of_its_class(tmp_path: Path) -> None:
    (message,), _ = lost_time(tmp_path, "Scale.forward", "waits")
    assert "needs 0 instead of 1 waits of the host for the device" in message


def test_lost_time_is_not_reported_where_another_cost_falls(tmp_path: Path) -> None:
    found, said = lost_time(tmp_path, "scale", "contention")
    assert found == []
    assert "scale: a review shows nothing of it: the costs that it names are not lower" in said


def test_lost_time_is_not_reported_with_other_results(tmp_path: Path) -> None:
    wrong = FASTER.replace("x.numel(), by, B=64", "x.numel() - 1, by, B=64")
    found, said = lost_time(tmp_path, "scale", "launches", wrong)
    assert found == []
    assert "the faster version gives other results" in said
