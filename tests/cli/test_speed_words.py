"""How a measured ratio is told in a terminal."""

from typing import Any

from tilewright.cli.show import speedup_line

SPEEDUP: dict[str, Any] = {
    "value": 1.9279, "low": 1.9203, "high": 1.9351, "device": "NVIDIA H200",
    "case": "bench-gpu[0]", "original_us": 251.53, "candidate_us": 130.45,
    "candidate_host_us": 31.0,
}  # fmt: skip


def test_a_ratio_comes_with_its_interval_its_place_and_its_times() -> None:
    assert speedup_line(SPEEDUP) == (
        "1.93x [1.92, 1.94] on NVIDIA H200, bench-gpu[0]: 251.5 us -> 130.4 us"
    )


def test_a_host_that_is_slower_than_the_device_is_named() -> None:
    line = speedup_line(SPEEDUP | {"candidate_us": 12.0})
    assert line.endswith("12.0 us; the host takes 31.0 us to hand a call over")
