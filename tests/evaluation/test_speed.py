"""What a contest amounts to, and when it amounts to nothing."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.model import DeviceInfo
from tilewright.evaluation.model import StepStatus
from tilewright.evaluation.physics import least_time
from tilewright.evaluation.speed import NoiseFloors, judged, worst_of
from tilewright.problems.model import Case, Input
from tilewright.targets.model import Target

H200 = DeviceInfo("cuda:0", "NVIDIA H200", Target("cuda", "90"), True, "2.11", "3.6", "3.12")
CASE = Case(
    "bench-gpu", 0, {}, "float16", (Input("x", (4096, 4096), "float16"),), flop=1e9, mem_bytes=4e8
)


def timing(ratio: float = 1.2, us: float = 100.0, **more: Any) -> dict[str, Any]:
    wobble = [0.002 * math.sin(at) for at in range(24)]
    return {
        "blocks": [[us * ratio * (1 + noise), us] for noise in wobble],
        "noise": 0.005, "faults": [], "wrong": None, "candidate_us": us, "original_us": us * ratio,
        "host_us": {"A": 10.0, "B": 12.0}, "host_bound": {"A": False, "B": False},
        "not_refreshed": [], "checked": 2, **more,
    }  # fmt: skip


def test_a_gain_beyond_the_noise_floor_passes_with_its_figures() -> None:
    timed = judged(timing(), CASE, H200, "hash", 1)
    assert timed.step.status is StepStatus.PASSED
    assert timed.speedup is not None
    assert 1.19 < timed.speedup.low <= 1.2 <= timed.speedup.high < 1.21
    assert timed.speedup.noise == 0.005
    assert timed.speedup.detectable is not None
    assert 0.005 < timed.speedup.detectable < 0.01
    assert (timed.speedup.original_host_us, timed.speedup.candidate_host_us) == (10.0, 12.0)
    assert timed.step.data["detectable"] == timed.speedup.detectable


def test_a_gain_within_the_noise_floor_is_no_difference_found() -> None:
    timed = judged(timing(1.01, noise=0.02), CASE, H200, "hash", 1)
    assert timed.step.status is StepStatus.FAILED
    assert timed.step.message.startswith("not measurably faster than its input on NVIDIA H200")
    assert timed.speedup is not None
    seen = 100 * (timed.speedup.detectable or 0)
    assert f"minimum detectable speed-up: {seen:.1f} %" in timed.step.message


def test_a_loss_is_said_to_be_slower() -> None:
    timed = judged(timing(0.8), CASE, H200, "hash", 1)
    assert timed.step.message.startswith("slower than its input")
    assert timed.speedup is not None
    assert timed.speedup.is_slower


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"faults": ["clocks disagree"]}, "the times are not trusted: clocks disagree"),
        ({"wrong": "output: 3 elements differ"}, "the outputs of the timed calls are wrong"),
        ({"noise": None}, "the noise floor of NVIDIA H200 was not measured"),
        ({"blocks": [[2.0, 1.0]] * 5}, "timing gave no interval: 5 blocks are too few"),
    ],
)
def test_times_that_prove_nothing_give_no_ratio(more: dict[str, Any], words: str) -> None:
    timed = judged(timing(**more), CASE, H200, "hash", 1)
    assert timed.step.status is StepStatus.FAILED
    assert timed.speedup is None
    assert words in timed.step.message


def test_a_time_below_what_the_chip_can_do_is_not_trusted() -> None:
    bound = least_time(CASE, H200)
    assert bound is not None
    assert bound.us == pytest.approx((4e8 - 52428800) / 4800e3)
    timed = judged(timing(us=0.9 * bound.us), CASE, H200, "hash", 1)
    assert timed.speedup is None
    assert "needs at least 72.4 us (400 MB at 4800 GB/s)" in timed.step.message
    assert judged(timing(us=1.1 * bound.us), CASE, H200, "hash", 1).speedup is not None


def test_arithmetic_bounds_a_product() -> None:
    case = replace(CASE, flop=2.0 * 8192**3, mem_bytes=3e8)
    bound = least_time(case, H200)
    assert bound is not None
    assert bound.why == "1099.5 GFLOP at 989 TFLOP/s"


def test_figures_of_one_product_bound_no_other() -> None:
    assert least_time(CASE, replace(H200, name="NVIDIA GH200 480GB")) is None
    assert least_time(CASE, replace(H200, target=None)) is None
    assert least_time(replace(CASE, mem_bytes=1e7, flop=None), H200) is None


def test_what_the_time_does_not_rest_on_is_noted() -> None:
    slow_host = {"A": 10.0, "B": 400.0}
    told = timing(
        not_refreshed=["index"], checked=0, host_us=slow_host, host_bound={"A": False, "B": True}
    )
    timed = worst_of([judged(told, replace(CASE, mem_bytes=None, flop=None), H200, "hash", 1)])
    notes = " / ".join(timed.step.data["notes"])
    for words in (
        "the same contents of index",
        "no outputs of timed calls",
        "takes 400 us to launch what the device does in 100 us",
        "not compared with the peak rates of NVIDIA H200",
    ):
        assert words in notes


def test_the_slowest_case_counts() -> None:
    timed = worst_of([judged(timing(ratio), CASE, H200, "hash", 1) for ratio in (1.5, 1.1, 1.3)])
    assert timed.speedup is not None
    assert timed.speedup.value == pytest.approx(1.1, abs=0.01)
    assert len(timed.step.data["cases"]) == 3


SURVEY = {"floor": 0.004, "duration": "32 us and up", "driver": "570", "logs": [0.001, -0.002]}


def test_a_noise_floor_is_kept_for_its_device_alone(tmp_path: Path) -> None:
    NoiseFloors(H200, tmp_path).keep(SURVEY)
    known = NoiseFloors(H200, tmp_path).known()
    assert known["32 us and up"]["floor"] == 0.004
    assert NoiseFloors(replace(H200, torch="2.12"), tmp_path).known() == {}


def test_a_noise_floor_that_is_old_or_broken_is_measured_again(tmp_path: Path) -> None:
    floors = NoiseFloors(H200, tmp_path)
    floors.keep(SURVEY)
    (file,) = tmp_path.rglob("*.json")
    text = file.read_text()
    year = text.partition('"measured": "')[2][:4]
    file.write_text(text.replace(f'"measured": "{year}', f'"measured": "{int(year) - 1}'))
    assert floors.known() == {}
    file.write_text(text[:-20])
    assert floors.known() == {}
