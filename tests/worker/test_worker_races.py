"""Programs of one launch that meet in memory: found although the interpreter runs them in turn."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
import torch

from tilewright.worker.interpreter import switch
from tilewright.worker.loading import entry_point
from tilewright.worker.memcheck import access_monitor, allocator_hooks, poison, redzones
from tilewright.worker.protocol import JobError

pytestmark = pytest.mark.triton

KERNELS = Path(__file__).parent / "kernels" / "races.py"


@pytest.fixture(scope="module")
def kernels() -> Any:
    with switch.interpreted():
        return entry_point.load_module(str(KERNELS))


def run(
    kernels: Any, name: str, order: str = "forward"
) -> tuple[torch.Tensor, list[redzones.Fault]]:
    around = redzones.Bands()
    x = around.place(torch.arange(64.0), "input x")
    with contextlib.ExitStack() as stack:
        stack.enter_context(switch.interpreted())
        stack.enter_context(allocator_hooks.Guard(around))
        stack.enter_context(poison.Poison())
        stack.enter_context(access_monitor.watched(around))
        stack.enter_context(switch.programs_in(order, seed=3))
        y = getattr(kernels, name)(x)
    assert around.out_of_bounds({"output": y}) == []
    return y, around.races()


def test_two_programs_that_store_different_values_are_found(kernels: Any) -> None:
    _, found = run(kernels, "last_wins")
    assert [fault.text for fault in found] == [
        "two programs store different values to the same elements of output (shape (16,), float32)"
    ]
    lines = KERNELS.read_text().splitlines()
    assert found[0].lines == (f"races.py:{lines.index('    tl.store(y_ptr + offs, x)') + 1}",)


def test_a_load_of_what_another_program_stores_is_found_with_both_lines(kernels: Any) -> None:
    _, (fault,) = run(kernels, "carried")
    assert "a program loads what another program stores in the same launch, in output" in fault.text
    text = KERNELS.read_text().splitlines()
    found = {text[int(line.split(":")[1]) - 1].strip().split(" = ")[0] for line in fault.lines}
    assert found == {"before", "tl.store(y_ptr + pid * BLOCK + offs, x + before)"}


def test_a_plain_store_beside_atomics_is_found(kernels: Any) -> None:
    y, (fault,) = run(kernels, "first_clears", "reversed")
    assert y[0] != sum(range(0, 64, 16)), "the sums were cleared after they had begun"
    assert "updates atomically in the same launch, in output" in fault.text


@pytest.mark.parametrize("name", ["agreeing", "last_arriver", "twice_in_place"])
@pytest.mark.parametrize("order", ["forward", "reversed", "shuffled"])
def test_what_is_in_order_is_no_finding(kernels: Any, name: str, order: str) -> None:
    y, found = run(kernels, name, order)
    assert found == []
    assert torch.isfinite(y).all()


def test_a_relaxed_counter_orders_nothing(kernels: Any) -> None:
    y, (fault,) = run(kernels, "relaxed_arriver")
    assert y.item() == sum(range(64))
    assert "a program loads what another program stores" in fault.text


def test_orders_run_every_program_once_with_its_own_ids(kernels: Any) -> None:
    plain, _ = run(kernels, "twice_in_place")
    for order in ("reversed", "shuffled"):
        turned, _ = run(kernels, "twice_in_place", order)
        assert torch.equal(plain, turned)
    last = {order: run(kernels, "last_wins", order)[0] for order in ("forward", "reversed")}
    assert last["forward"][0] == 48
    assert last["reversed"][0] == 0
    with pytest.raises(JobError, match="no order of programs is called 'sideways'"):
        run(kernels, "agreeing", "sideways")
