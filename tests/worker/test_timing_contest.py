"""A contest driven by a judge in the same process, on the CPU's clock."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from tilewright.worker.inputs import tensor_files
from tilewright.worker.protocol import JobError
from tilewright.worker.timing import calibration, clocks, paired_runner, resampled_inputs
from tilewright.worker.timing.controller import conduct
from tilewright.worker.timing.paired_runner import Contest

SIZE = 32


def inputs() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    return {"x": torch.randn(SIZE, SIZE, generator=generator), "n": 3}


def right(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * x + n


@dataclass
class Clock:
    """What the contest reads: it moves by what calls are said to take, on any machine."""

    now: float = 0.0

    def read(self) -> float:
        self.now += 1e-7
        return self.now

    def taking(self, seconds: float) -> Callable[[torch.Tensor, int], torch.Tensor]:
        def call(x: torch.Tensor, n: int) -> torch.Tensor:
            self.now += seconds
            return right(x, n)

        return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    told = Clock()
    monkeypatch.setattr(time, "perf_counter", told.read)
    for module in (calibration, clocks, paired_runner):
        monkeypatch.setattr(module, "_perf_counter", told.read)
    return told


def asking(contest: Contest) -> Any:
    def ask(message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        return contest.answer(message)

    return ask


def verifier(seen: list[int]) -> Any:
    def verify(turn: int, outputs: list[dict[str, Any]]) -> str | None:
        seen.append(turn)
        values = resampled_inputs.refreshed(inputs(), turn)
        actual = tensor_files.load(outputs)["output"]
        return None if torch.equal(actual, right(*values.values())) else "other numbers"

    return verify


def test_a_candidate_that_takes_a_part_of_the_time_is_faster(clock: Clock, tmp_path: Path) -> None:
    contest = Contest("cpu", clock.taking(0.02), clock.taking(0.002), inputs())
    seen: list[int] = []
    told = conduct(asking(contest), {"out": str(tmp_path), "noise": 0.05}, verifier(seen))
    assert told["wrong"] is None
    assert told["value"] > 1.2
    assert told["low"] <= told["value"] <= told["high"]
    assert len(seen) == told["checked"] >= 2
    assert told["original_us"] > told["candidate_us"] > 0


def test_outputs_kept_from_an_earlier_call_are_found(tmp_path: Path) -> None:
    memory: list[torch.Tensor] = []

    def cached(x: torch.Tensor, n: int) -> torch.Tensor:
        if not memory:
            memory.append(right(x, n))
        return memory[0]

    contest = Contest("cpu", right, cached, inputs())
    told = conduct(asking(contest), {"out": str(tmp_path)}, verifier([]))
    assert told["wrong"] == "other numbers"
    assert told["verdict"] is None


def test_inputs_changed_in_place_are_put_back_before_each_call(tmp_path: Path) -> None:
    def double(x: torch.Tensor, n: int) -> None:
        x.mul_(2)

    def verify(turn: int, outputs: list[dict[str, Any]]) -> str | None:
        doubled = resampled_inputs.refreshed(inputs(), turn)["x"] * 2
        (changed,) = [entry for entry in outputs if entry["name"] == "x"]
        return None if torch.equal(tensor_files.load([changed])["x"], doubled) else "not doubled"

    contest = Contest("cpu", double, double, inputs())
    told = conduct(asking(contest), {"out": str(tmp_path), "blocks": 40}, verify)
    assert told["wrong"] is None
    assert told["checked"] >= 2
    assert told["in_place"] == ["x"]


def test_messages_out_of_turn_are_refused() -> None:
    contest = Contest("cpu", right, right, inputs())
    with pytest.raises(JobError, match=r"before time\.prepare"):
        contest.answer({"do": "time.block", "order": "AB"})
    with pytest.raises(JobError, match=r"has no operation 'time\.travel'"):
        contest.answer({"do": "time.travel"})
