"""Fresh contents, clocks that must agree, and what a judge makes of them."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from tilewright.worker.timing import clock_check, resampled_inputs
from tilewright.worker.timing.controller import conduct
from tilewright.worker.timing.noise_floor import survey
from tilewright.worker.timing.paired_runner import Contest
from tilewright.worker.timing.session import duration_class

BATCH = clock_check.Batch(
    calls=100,
    plain_event_us=5000.0,
    plain_wall_us=5200.0,
    idle_wall_us=100.0,
    delayed_event_us=5000.0,
    delayed_wall_us=9150.0,
    delay_wall_us=4100.0,
)


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


def spec(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


def test_contents_are_the_same_on_both_sides_and_others_in_each_turn() -> None:
    values: dict[str, Any] = {"x": normal(60, 9), "n": 3}
    one, same, other = (resampled_inputs.refreshed(values, turn) for turn in (11, 11, 12))
    assert torch.equal(one["x"], same["x"])
    assert not torch.equal(one["x"], other["x"])
    assert not torch.equal(one["x"], values["x"])
    assert one["n"] == 3


def test_rolled_rows_are_the_same_rows_at_other_places() -> None:
    x = normal(50, 4)
    made = resampled_inputs.refreshed({"x": x}, 5, {"x": resampled_inputs.ROLL})["x"]
    assert sorted(map(tuple, made.tolist())) == sorted(map(tuple, x.tolist()))


def test_what_is_drawn_about_zero_changes_its_sum_too() -> None:
    x = normal(50, 4)
    plan = resampled_inputs.plan_for({"x": x}, {"inputs": [spec("x")]})
    assert plan == {"x": resampled_inputs.ROLL_AND_SIGN}
    made = resampled_inputs.refreshed({"x": x}, 5, plan)["x"]
    assert torch.equal(made.abs().sort(0).values, x.abs().sort(0).values)
    assert made.sum() != pytest.approx(float(x.sum()), rel=1e-3)


@pytest.mark.parametrize(
    "value",
    [
        torch.arange(8),
        torch.ones(3, dtype=torch.bool),
        torch.linspace(0, 1, 9),
        normal(3, 9).sort(-1).values,
        normal(5, 5).tril(),
        normal(5, 5) + normal(5, 5).T,
        normal(1),
        normal(4, 1).expand(4, 6),
    ],
    ids=["integers", "mask", "sorted", "sorted rows", "triangular", "symmetric", "one", "expanded"],
)
def test_what_a_change_could_make_invalid_is_left_alone(value: torch.Tensor) -> None:
    assert resampled_inputs.plan_for({"x": value}) == {"x": resampled_inputs.KEEP}
    made = resampled_inputs.refreshed({"x": value}, 7)["x"]
    assert torch.equal(made, value)
    assert made.stride() == value.stride()


@pytest.mark.parametrize(
    ("more", "how"),
    [
        ({"low": 0, "high": 1}, resampled_inputs.ROLL),
        ({"transforms": ["softmax"]}, resampled_inputs.ROLL),
        ({"transforms": ["triu"]}, resampled_inputs.KEEP),
        ({"transforms": ["normalize"]}, resampled_inputs.ROLL_AND_SIGN),
        ({"mean": 1.0, "std": 2.0, "low": -3, "high": 5}, resampled_inputs.ROLL),
    ],
)
def test_a_spec_says_what_keeps_an_input_valid(more: Mapping[str, Any], how: str) -> None:
    case = {"inputs": [spec("x", **more)]}
    assert resampled_inputs.plan_for({"x": normal(4, 8)}, case) == {"x": how}


def test_inputs_that_share_memory_are_left_alone() -> None:
    whole = normal(8, 4)
    plan = resampled_inputs.plan_for({"x": whole[:4], "y": whole[4:], "z": normal(4, 4)})
    assert plan == {
        "x": resampled_inputs.KEEP,
        "y": resampled_inputs.KEEP,
        "z": resampled_inputs.ROLL,
    }


def changed(**more: float) -> clock_check.Batch:
    return clock_check.Batch(**{**vars(BATCH), **more})


def test_clocks_that_agree_are_not_accused() -> None:
    assert clock_check.batch_faults(BATCH, block_us=52.0) == []


def test_work_that_events_do_not_see_shows_on_the_wall() -> None:
    (fault,) = clock_check.batch_faults(changed(plain_event_us=3000.0), block_us=52.0)
    assert "100 calls kept the device busy for 2100 us longer than the events" in fault


def test_events_that_say_too_little_show_against_the_judges_clock() -> None:
    (fault,) = clock_check.batch_faults(changed(delayed_event_us=2500.0), block_us=52.0)
    assert "events give 2500 us for 100 calls, the coordinator's clock 5050 us" in fault


def test_a_time_that_only_single_calls_reach_is_found() -> None:
    (fault,) = clock_check.batch_faults(BATCH, block_us=20.0)
    assert "timed one by one a call takes 20.0 us, in a row 50.5 us" in fault


def test_a_busy_host_is_no_fault_when_one_reading_was_quiet() -> None:
    busy = changed(plain_wall_us=9000.0, delayed_wall_us=12000.0)
    assert clock_check.batch_faults(busy, block_us=52.0) != []
    assert clock_check.batch_faults(clock_check.quietest(busy, BATCH), block_us=52.0) == []


def test_blocks_whose_events_contradict_one_another_are_found() -> None:
    honest = {"us": [100.0] * 4, "gaps_us": [50.0] * 4, "span_us": 600.0}
    assert clock_check.block_faults([honest] * 20, [700.0] * 20, repeats=1) == []
    shortened = {**honest, "us": [100.0, 50.0, 50.0, 100.0]}
    (fault,) = clock_check.block_faults([shortened] * 20, [700.0] * 20, repeats=1)
    assert fault == "events add up to 10000 us and span 12000 us"
    (fault,) = clock_check.block_faults([honest] * 20, [500.0] * 20, repeats=1)
    assert fault == "events span 12000 us in 10000 us of the coordinator's clock"


class Scripted:
    """A runner that makes its answers up: A takes 100 us, B 80."""

    def __init__(self, host_us: float = 10.0, b_us: float = 80.0) -> None:
        self.orders: list[str] = []
        self.batches = 0
        self.host_us = host_us
        self.b_us = b_us

    def __call__(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        us = {"A": 100.0, "B": self.b_us}
        self.batches += message["do"] == "time.batch"
        if message["do"] == "time.prepare":
            both = {"A": self.host_us, "B": self.host_us}
            return {
                "device": "made up", "driver": "1", "clock_note": "", "repeats": 1, "sets": 2,
                "keeps": 4, "in_place": [], "host_us": both, "rough_us": us, "not_refreshed": [],
            }  # fmt: skip
        if message["do"] == "time.block":
            self.orders.append(message["order"])
            taken = [us[letter] for letter in message["order"]]
            gaps = [0.0] * len(taken)
            return {"us": taken, "gaps_us": gaps, "span_us": 0.1 * sum(taken), "wall_us": 1.0}
        return {"event_us": 0.0, "wall_us": 0.0}


def test_a_runner_whose_events_are_made_up_is_not_trusted() -> None:
    told = conduct(Scripted(), {"noise": 0.01}, None)
    assert told["verdict"] == "faster"
    assert any("events add up to" in fault for fault in told["faults"])


def test_a_search_holds_only_gains_against_the_wall_clock() -> None:
    for b_us, wanted, checked in (
        (80.0, "gains", True),
        (120.0, "gains", False),
        (100.0, "gains", False),
        (120.0, True, True),
    ):
        runner = Scripted(b_us=b_us)
        told = conduct(runner, {"noise": 0.01, "batches": wanted}, None)
        assert (runner.batches > 0) == checked == bool(told["wall"])


@pytest.mark.parametrize("us", [float("nan"), 0.0, -3.0, float("inf"), "quick"])
def test_times_that_are_none_are_not_taken(us: Any) -> None:
    runner = Scripted()

    def ask(message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        told = runner(message, timeout_s)
        return {**told, "us": [us] * len(told["us"])} if "us" in told else told

    with pytest.raises(ValueError, match="invalid times"):
        conduct(ask, {"noise": 0.01}, None)


def test_the_order_is_drawn_and_both_come_first_about_as_often() -> None:
    runner = Scripted()
    conduct(runner, {"noise": 0.01, "blocks": 60, "batches": False}, None)
    first = [order[0] for order in runner.orders]
    assert 15 <= first.count("A") <= 45
    assert all(order.count("A") == order.count("B") for order in runner.orders)


def test_an_original_that_is_slow_beside_the_candidate_is_measured_again() -> None:
    slowed = conduct(Scripted(), {"noise": 0.01, "original_us": 80.0}, None, clean=lambda: 80.0)
    assert any(
        "takes 100.0 us next to the candidate and 80.0 us by itself" in f for f in slowed["faults"]
    )
    device_slowed = conduct(
        Scripted(), {"noise": 0.01, "original_us": 80.0}, None, clean=lambda: 98.0
    )
    assert not any("by itself" in fault for fault in device_slowed["faults"])


def test_a_noise_floor_of_another_driver_or_duration_does_not_count() -> None:
    record = {"floor": 0.03, "driver": "1"}
    here = duration_class(100.0)
    asked: list[int] = []

    def measured() -> dict[str, Any]:
        asked.append(1)
        return {"floor": 0.02}

    for known, floor in (
        ({here: record}, 0.03),
        ({here: {**record, "driver": "2"}}, 0.02),
        ({duration_class(9000.0): record}, 0.02),
    ):
        told = conduct(Scripted(), {"noise": known, "batches": False}, None, None, measured)
        assert told["noise"] == floor
        assert told["survey"] is None or told["survey"]["duration"] == here
    assert len(asked) == 2
    assert conduct(Scripted(), {"batches": False}, None)["noise"] is None


def test_a_survey_times_two_copies_of_the_same() -> None:
    loads: list[int] = []

    def load() -> tuple[Any, Any]:
        loads.append(1)
        return (lambda x: x + 1), (lambda x: x + 1)

    contest = Contest("cpu", None, None, {"x": normal(64)}, load=load)
    asked: list[str] = []

    def ask(message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        asked.append(message["do"])
        return contest.answer(message)

    found = survey(ask, {"warm_s": 0.01}, sessions=4)
    assert asked.count("time.end") == 1
    assert asked[-1] == "time.end"
    assert len(found["logs"]) == len(found["errors"]) == 4
    assert loads
    assert found["floor"] >= 0.002
    assert found["original_us"] > 0
    assert found["duration"].endswith("us and up")
