"""Results against the operator of the name, or a reference of the file, in the interpreter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.model import INTERPRETER, Device
from tilewright.devices.opening import open_device
from tilewright.executed.issues import executed_issues
from tilewright.executed.jobs import all_tried
from tilewright.source import parse_module

pytestmark = [pytest.mark.triton, pytest.mark.slow]

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
ROWS = (
    HEAD
    + """
@triton.jit
def rows(x, y, n, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=-float("inf")){WIDE}
    {BODY}
    tl.store(y + r * n + c, out, mask=c < n)

def {NAME}(x):
    M, N = x.shape
    y = torch.empty_like(x)
    rows[(M,)](x, y, N, B=triton.next_power_of_2(N))
    return y

def {NAME}_ref(x):
    return {REFERENCE}
"""
)
SOFTMAX = "e = tl.exp(v - tl.max(v, 0))\n    out = e / tl.sum(e, 0)"


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    """The interpreter."""
    opened = open_device(INTERPRETER)
    yield opened
    opened.close()


def _found(device: Device, tmp_path: Path, text: str, **parts: str) -> dict[str, str]:
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    path = tmp_path / "file.py"
    path.write_text(text)
    module = parse_module(text, str(path))
    tried = all_tried(module, str(path), device)
    assert all(one.is_clean for one in tried)
    return {issue.id: issue.message for issue in executed_issues(module, tried)}


def _rows(device: Device, tmp_path: Path, **parts: str) -> dict[str, str]:
    usual = {"WIDE": ".to(tl.float32)", "NAME": "softmax", "REFERENCE": "x.softmax(-1)"}
    return _found(device, tmp_path, ROWS, **{**usual, **parts})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("e = tl.exp(v)\n    out = e / tl.sum(e, 0)", "nan here"),
        (f"{SOFTMAX} * 1.5", "from torch.softmax at"),
    ],
)
def test_a_result_that_is_not_the_operators_is_reported(
    device: Device, tmp_path: Path, body: str, said: str
) -> None:
    assert said in _rows(device, tmp_path, BODY=body)["result_of_other_operator"]


@pytest.mark.parametrize("name", ["softmax", "sharpened"])
def test_the_operator_and_another_name_are_not_reported(
    device: Device, tmp_path: Path, name: str
) -> None:
    body = SOFTMAX if name == "softmax" else f"{SOFTMAX} * 1.5"
    reference = "x.softmax(-1)" if name == "softmax" else "x.softmax(-1) * 1.5"
    assert _rows(device, tmp_path, BODY=body, NAME=name, REFERENCE=reference) == {}


def test_a_reference_of_the_file_is_compared(device: Device, tmp_path: Path) -> None:
    found = _rows(device, tmp_path, BODY=SOFTMAX, NAME="sharpened", REFERENCE="2 * x.softmax(-1)")
    assert "from sharpened_ref at" in found["result_of_other_operator"]
    found = _rows(device, tmp_path, BODY=f"{SOFTMAX} + 1", NAME="raised", REFERENCE="x.softmax(-1)")
    assert "from raised_ref at" in found["result_of_other_operator"]
