"""What the benchmark of static cost would time, without a GPU."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.triton

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "static_cost"


def _measured(out: Path, *arguments: str) -> list[dict[str, Any]]:
    command = [sys.executable, str(BENCHMARK / "measure.py"), str(out), "--no-timing", "--whole"]
    shapes = ("--shapes", str(BENCHMARK / "blind_shapes.json"))
    subprocess.run([*command, *shapes, *arguments], check=True, capture_output=True)
    points: list[dict[str, Any]] = json.loads(out.read_text("utf-8"))["points"]
    return points


def _groups(points: list[dict[str, Any]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for point in points:
        name = f"{point['kernel']} {sorted(point['shape'].items())}"
        found[name] = found.get(name, 0) + 1
    return found


@pytest.mark.slow
def test_a_second_call_goes_on_with_the_lists_that_the_first_did_not_time(tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    points = _measured(first, "--points", "400", "--continue", str(first))  # of which there is none
    drawn = _groups(points)
    *timed, late = drawn
    for point in points:
        if _groups([point]).keys() != {late}:
            point["us"] = 1.0
        else:
            point["failure"] = "not timed: the benchmark's time was up"
    first.write_text(json.dumps({"points": points}), "utf-8")
    both = _measured(tmp_path / "second.json", "--continue", str(first))
    every = _groups(_measured(tmp_path / "every.json"))
    assert _groups(both) == every
    assert all(drawn[name] == every[name] for name in drawn)
    assert set(_groups([p for p in both if "us" in p])) == set(timed)
    assert not any("failure" in point for point in both)
