"""What kernels load before anything has written it, and stores into inputs that are taken back."""

import contextlib
from pathlib import Path
from typing import Any

import pytest
import torch

from tilewright.worker.interpreter import switch
from tilewright.worker.loading import entry_point
from tilewright.worker.memcheck import (
    access_monitor,
    allocator_hooks,
    poison,
    redzones,
    uninitialized,
)

pytestmark = pytest.mark.triton

KERNELS = Path(__file__).parent / "kernels" / "contents.py"
OUTPUT = "output (shape (32,), float32)"


@pytest.fixture(scope="module")
def kernels() -> Any:
    with switch.interpreted():
        return entry_point.load_module(str(KERNELS))


def run(kernels: Any, name: str) -> tuple[torch.Tensor, uninitialized.Contents]:
    around = redzones.Bands()
    x = around.place(torch.arange(32.0), "input x")
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(switch.interpreted())
        stack.enter_context(allocator_hooks.Guard(around))
        found = stack.enter_context(access_monitor.watched(around))
        stack.enter_context(poison.Poison())
        y = getattr(kernels, name)(x)
    assert around.out_of_bounds({"output": y}) == []
    assert torch.equal(x, torch.arange(32.0)), "it is not seen afterwards"
    return y, found


def line_of(text: str) -> str:
    return f"{KERNELS.name}:{KERNELS.read_text().splitlines().index(f'    {text}') + 1}"


LOAD = line_of("there = tl.load(y_ptr + offs, mask=offs < n)")


def test_a_result_that_may_be_there_from_an_earlier_call_is_found(kernels: Any) -> None:
    y, found = run(kernels, "refreshed")
    assert torch.equal(y[:24], torch.arange(24.0))
    assert found.unwritten() == [uninitialized.Unwritten("output", OUTPUT, 24, (LOAD,))]
    assert found.unwritten() == found.unwritten()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("refreshed_copy", "float32"),
        ("refreshed_leaf", "float32"),
        ("refreshed_whole_numbers", "int32"),
    ],
)
def test_however_the_memory_was_come_by(kernels: Any, name: str, kind: str) -> None:
    _, found = run(kernels, name)
    (told,) = found.unwritten()
    assert (told.text, told.elements) == (f"output (shape (32,), {kind})", 32)


def test_memory_that_is_let_go_of_is_concluded_on(kernels: Any) -> None:
    y, found = run(kernels, "refreshed_temporaries")
    assert torch.equal(y, torch.arange(32.0) * 4)
    (told,) = found.unwritten()
    assert (told.name, told.elements, told.lines) == (None, 32, (LOAD,))
    assert "a tensor that the host code allocates" in told.text


def test_atomic_operations_read_too(kernels: Any) -> None:
    _, found = run(kernels, "read_by_adding_nothing")
    (told,) = found.unwritten()
    assert told.lines == (line_of("there = tl.atomic_add(y_ptr + offs, 0.0)"),)


@pytest.mark.parametrize("name", ["through_scratch", "by_operators", "padded", "exchanged"])
def test_what_was_written_or_is_thrown_away_is_no_finding(kernels: Any, name: str) -> None:
    y, found = run(kernels, name)
    assert found.unwritten() == []
    assert found.stored() == []
    assert torch.isfinite(y).all()


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("borrowed", "tl.store(x_ptr + offs, y)"),
        ("counted_and_back", "tl.atomic_add(x_ptr + tl.arange(0, BLOCK), by)"),
    ],
)
def test_an_input_that_is_put_back_was_stored_into(kernels: Any, name: str, line: str) -> None:
    y, found = run(kernels, name)
    assert torch.equal(y, torch.arange(32.0) * 2)
    (stored,) = found.stored()
    assert (stored.owner.name, stored.changes) == ("input x", True)
    assert stored.lines == {line_of(line)}


def test_storing_what_is_there_changes_nothing(kernels: Any) -> None:
    _, found = run(kernels, "the_same_again")
    assert [stored.changes for stored in found.stored()] == [False]


@pytest.mark.parametrize(
    ("name", "loads"), [("borrowed", True), ("counted_and_back", True), ("written_first", False)]
)
def test_loads_of_an_input_count_until_it_is_stored_into(
    kernels: Any, name: str, loads: bool
) -> None:
    _, found = run(kernels, name)
    assert [reached.owner.name for reached in found.loaded()] == ["input x"] * loads


@pytest.mark.parametrize("name", ["bool", "int8", "int32", "float16", "bfloat16", "float8_e5m2"])
def test_poison_is_known_by_its_bits(name: str) -> None:
    dtype = getattr(torch, name)
    with poison.Poison():
        made = torch.empty(3, dtype=dtype)
    size = dtype.itemsize
    raw = bytes(made.view(torch.uint8).tolist())
    assert {int.from_bytes(raw[at : at + size], "little") for at in range(0, 3 * size, size)} == {
        poison.bits(dtype)
    }
    assert poison.bits(torch.complex64) is None
