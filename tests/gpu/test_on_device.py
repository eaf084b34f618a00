"""The same path where a GPU can time: verdicts with intervals, on the device that is there."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

pytestmark = [pytest.mark.gpu, pytest.mark.triton, pytest.mark.slow]


def run_json(*arguments: str, code: int = 0) -> Any:
    command = [sys.executable, "-m", "tilewright", *arguments, "--format", "json"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == code, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture
def softmax(tmp_path: Path) -> Path:
    for name in ("softmax.py", "softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    return tmp_path / "softmax.py"


def edited(original: Path, before: str, after: str) -> Path:
    text = original.read_text()
    assert before in text
    candidate = original.with_name("candidate.py")
    candidate.write_text(text.replace(before, after))
    return candidate


def test_the_gpu_is_listed_with_the_target_it_is() -> None:
    gpus = [device for device in run_json("devices")["devices"] if device["can_time"]]
    assert gpus
    assert all(device["target"]["backend"] in ("cuda", "hip", "xpu") for device in gpus)


def test_an_optimized_kernel_is_measurably_faster_and_says_by_how_much(softmax: Path) -> None:
    value = run_json("optimize", str(softmax), "--device", "cuda:0", "--budget", "16")
    assert value["level"] == "faster"
    speedup = value["speedup"]
    assert 1 < speedup["low"] <= speedup["value"] <= speedup["high"]
    assert speedup["original_us"] > speedup["candidate_us"] > 0
    assert value["certificate"]["speedup"] == speedup


def test_the_same_kernel_under_another_name_is_not_faster(softmax: Path) -> None:
    candidate = edited(softmax, "row_sum", "row_total")
    value = run_json("verify", str(softmax), str(candidate), code=1)
    assert (value["accepted"], value["level"]) == (False, "correct")
    assert value["failed"]["step"] == "speed"


def test_a_slower_kernel_is_said_to_be_slower(softmax: Path) -> None:
    candidate = edited(softmax, "BLOCK=1024", "BLOCK=64")
    value = run_json("verify", str(softmax), str(candidate), code=1)
    assert value["failed"]["step"] == "speed"
    assert "slower" in value["failed"]["message"]
    assert value["speedup"]["high"] < 1


def test_a_wrong_kernel_is_rejected_before_it_is_timed(softmax: Path) -> None:
    candidate = edited(softmax, "tl.exp(x - row_max) / row_sum", "tl.exp(x - row_max)")
    value = run_json("verify", str(softmax), str(candidate), code=1)
    assert (value["level"], value["failed"]["step"]) == ("rejected", "correctness")
    assert value["speedup"] is None


def test_profile_times_the_kernel_as_it_stands(softmax: Path) -> None:
    (kernel,) = run_json("profile", str(softmax))["kernels"]
    time = kernel["time"]
    assert 0 < time["low_us"] <= time["median_us"] <= time["high_us"]
    assert kernel["correct"] is True
