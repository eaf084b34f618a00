"""Programs of a launch that are computed together: as one after another, or not at all."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from triton.runtime import interpreter

from tilewright.worker.interpreter import batched_launch, switch
from tilewright.worker.interpreter.footprints import ConflictError, Footprints
from tilewright.worker.loading import entry_point
from tilewright.worker.memcheck import access_monitor, allocator_hooks, redzones

pytestmark = pytest.mark.triton

KERNELS = Path(__file__).parent / "kernels" / "batches.py"
BASE, WIDTH = 4096, 4


@pytest.fixture(scope="module")
def kernels() -> Any:
    with switch.interpreted():
        return entry_point.load_module(str(KERNELS))


def run(
    kernels: Any, name: str, size: int, order: str = "forward"
) -> tuple[torch.Tensor, batched_launch.Tally, list[redzones.Fault]]:
    around = redzones.Bands()
    x = around.place(torch.arange(1.0, size + 1.0), "input x")
    with contextlib.ExitStack() as stack:
        stack.enter_context(switch.interpreted())
        stack.enter_context(allocator_hooks.Guard(around))
        stack.enter_context(access_monitor.watched(around))
        stack.enter_context(switch.programs_in(order, seed=3))
        y = getattr(kernels, name)(x)
        tally = batched_launch.take_tally()
    assert around.out_of_bounds({"output": y}) == []
    return y, tally, around.races()


@pytest.mark.parametrize("order", ["forward", "reversed", "shuffled"])
def test_programs_that_have_nothing_in_common_are_one_step(kernels: Any, order: str) -> None:
    y, tally, races = run(kernels, "scaled", 60, order)
    x = torch.nn.functional.pad(torch.arange(1.0, 61.0), (0, 4)).reshape(8, 8)
    assert torch.allclose(y, (x / (x * x).sum(1, keepdim=True)).reshape(-1)[:60])
    assert (tally.programs, tally.steps, tally.alone, races) == (8, 1, {}, [])


def test_programs_of_more_rounds_than_others_are_a_step_of_their_own(kernels: Any) -> None:
    y, tally, _ = run(kernels, "strided", 60)
    tiles = torch.arange(60) // 8
    assert torch.equal(y, torch.arange(1.0, 61.0) + tiles)
    assert (tally.programs, tally.steps, tally.alone) == (3, 2, {})


def test_what_was_stored_before_programs_part_is_stored_once(kernels: Any) -> None:
    y, tally, races = run(kernels, "counted_twice", 60)
    extra = 10.0 * (torch.arange(60) // 8 % 2)
    assert torch.equal(y, torch.arange(1.0, 61.0) + 1 + extra)
    assert (tally.programs, tally.steps, tally.alone, races) == (8, 2, {}, [])


def test_programs_that_read_what_others_store_run_one_after_another(kernels: Any) -> None:
    y, tally, races = run(kernels, "from_the_left", 32)
    assert torch.equal(y, torch.arange(1.0, 33.0).reshape(4, 8).cumsum(0).reshape(-1))
    assert tally.steps == 4
    assert tally.alone == {"_from_the_left": "programs touch what others store"}
    assert "a program loads what another program stores" in races[0].text


def test_a_sum_by_atomics_is_one_step_if_nobody_takes_its_old_value(kernels: Any) -> None:
    y, tally, races = run(kernels, "total", 60)
    assert (float(y), tally.steps, races) == (60 * 61 / 2, 1, [])
    y, tally, _ = run(kernels, "tickets", 6, "reversed")
    assert y.tolist() == [5, 4, 3, 2, 1, 0]
    assert tally.steps == 6
    assert "order of programs" in tally.alone["_tickets"]


class _NoMemory:
    """What footprints alone do not touch."""


def footprints() -> Footprints:
    return Footprints([(BASE, 256, WIDTH)], _NoMemory())


def pointers(*elements: int) -> Any:
    return np.array([[BASE + WIDTH * one] for one in elements], dtype=np.uint64)


def test_footprints_of_different_elements_are_no_conflict() -> None:
    seen, both, mask = footprints(), np.array([0, 1]), np.ones((2, 1), dtype=np.bool_)
    seen.load(pointers(0, 0), mask, WIDTH, both)
    seen.load(pointers(5), mask[:1], WIDTH, None)
    seen.store(pointers(1, 2), mask, WIDTH, both)
    seen.load(pointers(1, 2), mask, WIDTH, both)
    seen.update(pointers(8, 8), mask, WIDTH, both)
    seen.store(pointers(1, 0), np.array([[True], [False]]), WIDTH, both)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("load", (1, 0)), ("store", (0, 2))),
        (("store", (0, 2)), ("load", (1, 0))),
        (("store", (0, 2)), ("store", (1, 0))),
        (("update", (0, 0)), ("load", (0, 3))),
        (("load", (3, 3)), ("update", (3, 4))),
        (("load", (0, 1)), ("load", (99, 0))),
    ],
)
def test_programs_that_meet_are_a_conflict(
    first: tuple[str, tuple[int, int]], second: tuple[str, tuple[int, int]]
) -> None:
    seen, both, mask = footprints(), np.array([0, 1]), np.ones((2, 1), dtype=np.bool_)
    getattr(seen, first[0])(pointers(*first[1]), mask, WIDTH, both)
    with pytest.raises(ConflictError):
        getattr(seen, second[0])(pointers(*second[1]), mask, WIDTH, both)
    with pytest.raises(ConflictError):
        footprints().store(pointers(7, 7), mask, WIDTH, both)


def test_what_goes_by_the_batch_is_run_one_after_another(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bypass(batched_launch.BatchBuilder):
        def create_get_program_id(self, axis: int) -> Any:
            return interpreter.interpreter_builder.create_get_program_id(axis)

    run(kernels, "scaled", 60)
    monkeypatch.setattr(batched_launch, "BatchBuilder", Bypass)
    y, tally, _ = run(kernels, "scaled", 60)
    x = torch.nn.functional.pad(torch.arange(1.0, 61.0), (0, 4)).reshape(8, 8)
    assert torch.allclose(y, (x / (x * x).sum(1, keepdim=True)).reshape(-1)[:60])
    assert (tally.programs, tally.steps) == (8, 8)
    assert "grid_idx is None" in " ".join(tally.alone.values())
