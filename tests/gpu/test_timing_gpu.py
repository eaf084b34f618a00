"""Contests on a GPU: what they find, and what they do not fall for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tilewright.worker.inputs import tensor_files  # noqa: E402
from tilewright.worker.timing import resampled_inputs  # noqa: E402
from tilewright.worker.timing.clocks import clock_for  # noqa: E402
from tilewright.worker.timing.controller import conduct  # noqa: E402
from tilewright.worker.timing.paired_runner import Contest  # noqa: E402

pytestmark = [pytest.mark.gpu]
Function = Callable[..., Any]


def inputs() -> dict[str, Any]:
    generator = torch.Generator("cuda").manual_seed(1)
    return {"x": torch.randn(4096, 4096, generator=generator, device="cuda")}


def once(x: Any) -> Any:
    return x * 2


def thrice(x: Any) -> Any:
    return ((x * 4) * 2) / 4


def contest(original: Function, candidate: Function, folder: Path, **spec: Any) -> dict[str, Any]:
    runner = Contest("cuda:0", original, candidate, inputs(), clock=clock_for("cuda:0"))

    def ask(message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        return runner.answer(message)

    def verify(turn: int, outputs: list[dict[str, Any]]) -> str | None:
        right = resampled_inputs.refreshed(inputs(), turn)["x"] * 2
        actual = tensor_files.load(outputs[:1], "cuda")
        return None if torch.equal(actual[outputs[0]["name"]], right) else "other numbers"

    return conduct(ask, {"noise": 0.01, "out": str(folder), **spec}, verify)


def test_a_third_of_the_work_is_faster(tmp_path: Path) -> None:
    told = contest(thrice, once, tmp_path)
    assert (told["wrong"], told["faults"]) == (None, [])
    assert told["verdict"] == "faster"
    assert 2 < told["value"] < 4
    assert told["seconds"] < 2


def test_graphs_of_both_are_timed_and_checked(tmp_path: Path) -> None:
    told = contest(thrice, once, tmp_path, graphs=True)
    assert (told["wrong"], told["faults"]) == (None, [])
    assert told["verdict"] == "faster"


def test_inputs_changed_in_place_are_timed_and_checked(tmp_path: Path) -> None:
    told = contest(lambda x: x.mul_(2), lambda x: x.mul_(2), tmp_path, blocks=24)
    assert (told["wrong"], told["faults"]) == (None, [])
    assert told["in_place"] == ["x"]
    assert told["checked"] >= 1


def test_work_on_another_stream_is_found(tmp_path: Path) -> None:
    side = torch.cuda.Stream()

    def hidden(x: Any) -> Any:
        with torch.cuda.stream(side):
            return thrice(x)

    told = contest(thrice, hidden, tmp_path)
    assert told["faults"] or told["wrong"]


def test_events_patched_by_a_candidate_are_not_the_ones_that_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_for("cuda:0")
    honest = torch.cuda.Event.elapsed_time
    monkeypatch.setattr(torch.cuda.Event, "elapsed_time", lambda a, b: 0.1 * honest(a, b))
    runner = Contest("cuda:0", once, once, inputs(), clock=clock)
    told = conduct(lambda message, _: runner.answer(message), {"noise": 0.01}, None)
    assert told["faults"] == []
    assert told["original_us"] > 10


def test_events_that_lie_are_found_by_the_judges_clock(tmp_path: Path) -> None:
    clock = clock_for("cuda:0")
    honest = clock._us  # type: ignore[union-attr]
    clock._us = lambda start, end: 0.5 * honest(start, end)  # type: ignore[union-attr, method-assign]
    runner = Contest("cuda:0", once, once, inputs(), clock=clock)
    told = conduct(lambda message, _: runner.answer(message), {"noise": 0.01}, None)
    assert any("the coordinator's clock" in fault for fault in told["faults"])


def test_outputs_kept_from_an_earlier_call_are_found(tmp_path: Path) -> None:
    memory: list[Any] = []

    def cached(x: Any) -> Any:
        if not memory:
            memory.append(once(x))
        return memory[0]

    assert contest(once, cached, tmp_path)["wrong"] == "other numbers"
