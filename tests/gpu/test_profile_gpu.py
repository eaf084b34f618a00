"""A profile where a GPU is: time, trace, and counters where the device's profiler is there."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
TWO = """

def both(x):
    return softmax(x) + softmax(x * 2.0)
"""

pytestmark = [pytest.mark.gpu, pytest.mark.triton, pytest.mark.slow]


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path / "softmax.py"


def profile(*arguments: str) -> Any:
    command = [sys.executable, "-m", "tilewright", "profile", *arguments, "--format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def facts(subject: Any) -> dict[str, float]:
    return {fact["name"]: fact["value"] for fact in subject["facts"]}


def test_a_row_kernel_is_held_against_the_bandwidth(softmax: Path) -> None:
    value = profile(str(softmax), "--no-counters")
    (kernel,) = value["kernels"]
    found = facts(kernel)
    assert found["bytes.touched"] == 2 * 8192 * 8192 * 4
    assert 10 < found["roof.percent"] < 105
    assert found["device.busy"] > 0.5 * found["time"]
    assert found["host"] > 0
    assert not any(name.startswith("counter.") for name in found)
    assert kernel["findings"][0]["measured"]


def test_counters_agree_with_what_the_source_must_move(softmax: Path) -> None:
    value = profile(str(softmax))
    (kernel,) = value["kernels"]
    found = facts(kernel)
    if "bytes.moved" not in found:
        assert any(note.startswith("no counters: ") for note in value["notes"])
        pytest.skip(next(note for note in value["notes"] if note.startswith("no counters")))
    assert found["traffic"] > 0.9, "less than the least was moved: one of the two is wrong"
    assert found["bytes.moved"] < 1.2 * found["bytes.asked"]
    assert 0 < found["counter.l2.hit"] < 100
    assert found["counter.time"] == pytest.approx(found["time"], rel=0.5)


def test_other_kernels_of_a_call_are_seen(softmax: Path) -> None:
    softmax.write_text(softmax.read_text() + TWO)
    spec = softmax.with_suffix(".yaml")
    spec.write_text(spec.read_text().replace("entry: softmax\nreference", "entry: both\nreference"))
    value = profile(str(softmax), "--no-counters")
    texts = [finding["text"] for finding in value["call"]["findings"]]
    assert any("is not of this file's Triton kernels" in text for text in texts)
    (kernel,) = value["kernels"]
    assert facts(kernel)["time"] < facts(value["call"])["time"]
