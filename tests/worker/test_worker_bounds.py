"""Stores and loads outside of a tensor, and results that hang on the order of programs."""

from pathlib import Path
from typing import Any

import pytest
from worker_bench import Bench, case_of, fault, tensor

from tilewright.devices.model import JobStatus

pytestmark = pytest.mark.triton

NO_WRITE_MASK = ("write = offs < N", "write = offs < N + 1000")
NO_READ_MASK = ("read = offs < N", "read = offs < N + 1000")


def changed(bench: Bench, *changes: tuple[str, str]) -> Path:
    """A copy of ``bounds.py`` with some changes."""
    path = bench.variant("bounds.py", *changes[0])
    for old, new in changes[1:]:
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
    return path


def out_of_bounds(bench: Bench, path: Path | str, name: str, **spec: Any) -> list[str]:
    case = case_of(tensor("x", 300, **spec))
    found: list[str] = bench.ran(path, name, case)["out_of_bounds"]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "float64"])
def test_a_store_past_the_end_is_seen_even_of_what_was_read_past_the_end(
    bench: Bench, dtype: str
) -> None:
    path = changed(bench, NO_WRITE_MASK, NO_READ_MASK)
    found = out_of_bounds(bench, path, "copy", dtype=dtype)
    assert found == [
        f"writes 84 elements past the end of output (shape (300,), {dtype})",
        f"reads 84 elements past the end of input x (shape (300,), {dtype})",
    ]
    assert out_of_bounds(bench, "bounds.py", "copy", dtype=dtype) == []


def test_a_store_before_the_start_is_seen(bench: Bench) -> None:
    path = changed(bench, ("y_offs = offs", "y_offs = offs - 1"))
    found = out_of_bounds(bench, path, "copy")
    assert found == ["writes 1 element before the start of output (shape (300,), float32)"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("copy_back", "input x"),
        ("copy_into_a_temporary", "a tensor that the host code allocates"),
    ],
)
def test_the_tensor_written_past_is_named(bench: Bench, name: str, place: str) -> None:
    (found,) = out_of_bounds(bench, changed(bench, NO_WRITE_MASK), name)
    assert found == f"writes 84 elements past the end of {place} (shape (300,), float32)"


def test_a_models_weights_and_buffers_are_watched_and_given_back(bench: Bench) -> None:
    case = case_of(tensor("x", 3, 100), init_args=[100], dtype="float32")
    entry = {"kind": "model", "name": "Weighted", "path": None}
    inputs = bench.inputs(case)
    clean = bench.ran("bounds.py", "", case, entry=entry, inputs=inputs, keep_state=True)
    assert clean["out_of_bounds"] == []
    again = bench.ran(
        changed(bench, NO_WRITE_MASK), "", case, entry=entry, inputs=inputs, state=clean["state"]
    )
    assert again["out_of_bounds"] == [
        "writes 28 elements past the end of weight seen (shape (100,), float32)"
    ]
    assert not fault(clean, again)


def test_a_load_past_the_end_that_reaches_the_result_is_nan(bench: Bench) -> None:
    case = case_of(tensor("x", 4, 100))
    inputs = bench.inputs(case)
    path = changed(bench, ("mask=cols < N, other=0.0", "mask=cols < N + 50, other=0.0"))
    expected = bench.ran("bounds.py", "row_sum", case, inputs=inputs)
    actual = bench.ran(path, "row_sum", case, inputs=inputs)
    assert actual["out_of_bounds"] == [
        "reads 28 elements past the end of input x (shape (4, 100), float32)"
    ]
    lines = path.read_text().splitlines()
    ((line,),) = actual["out_of_bounds_lines"]
    assert "mask=cols < N + 50" in lines[int(line.removeprefix("bounds.py:")) - 1]
    last = Path(actual["outputs"][0]["file"]).read_bytes()[-4:]
    assert last[3] & 0x7F == 0x7F, "the last row's sum must be NaN"
    found = fault(expected, actual, rtol=1e-5, atol=1e-5)
    assert "NaN where a number was expected, all in the last element 3" in found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8", "float64"])
def test_the_bits_of_a_band_tell_without_anybody_watching(dtype: str) -> None:
    import torch

    from tilewright.worker.memcheck.redzones import Bands

    bands = Bands()
    zeros = torch.zeros(300, dtype=getattr(torch, dtype))
    first, second = bands.place(zeros, "input x"), bands.place(zeros)
    beyond, source = (
        torch.as_strided(one, (320,), (1,), int(one.storage_offset()) - 10)
        for one in (first, second)
    )
    beyond[:8] = source[:8]
    beyond[310:] = source[310:]
    first[:] = 1
    assert [fault.text for fault in bands.out_of_bounds({"output": second})] == [
        f"writes 8 elements before the start of input x (shape (300,), {dtype})",
        f"writes 10 elements past the end of input x (shape (300,), {dtype})",
    ]


def test_host_code_sees_the_same_strides_and_values(bench: Bench) -> None:
    case = case_of(tensor("x", 48))
    inputs = bench.inputs(case)
    guarded = bench.ran("bounds.py", "looks_at_memory", case, inputs=inputs)
    plain = bench.ran("bounds.py", "looks_at_memory", case, inputs=inputs, guard=False)
    assert guarded["out_of_bounds"] == []
    assert guarded["output_tree"] == plain["output_tree"]
    for one, other in zip(guarded["outputs"], plain["outputs"], strict=True):
        assert one.get("strides") == other.get("strides")
    assert not fault(plain, guarded)


def test_bands_of_what_is_gone_do_not_fill_the_memory(bench: Bench) -> None:
    case = case_of(tensor("x", 16))
    outcome = bench.run("bounds.py", "allocates_in_a_loop", case, memory_bytes=400 << 20)
    assert outcome.status is JobStatus.OK, outcome.message


def last_program(bench: Bench, **more: Any) -> int:
    value = bench.ran("bounds.py", "last_program", case_of(tensor("x", 4)), **more)
    return int.from_bytes(Path(value["outputs"][0]["file"]).read_bytes(), "little")


def test_programs_run_in_reverse_order(bench: Bench) -> None:
    assert last_program(bench) == 11
    assert last_program(bench, order="reversed") == 0


def test_what_does_not_hang_on_the_order_stays_the_same(bench: Bench) -> None:
    case = case_of(tensor("a", 65, 40, dtype="float16"), tensor("b", 40, 50, dtype="float16"))
    inputs = bench.inputs(case)
    forward = bench.ran("matmul.py", "matmul", case, inputs=inputs)
    turned = bench.ran("matmul.py", "matmul", case, inputs=inputs, order="reversed")
    files = [Path(value["outputs"][0]["file"]).read_bytes() for value in (forward, turned)]
    assert files[0] == files[1]


def test_an_order_that_does_not_exist_is_refused(bench: Bench) -> None:
    outcome = bench.run("bounds.py", "copy", case_of(tensor("x", 4)), order="sideways")
    assert outcome.status is JobStatus.ERROR
    assert "there are forward, reversed, shuffled" in outcome.message


@pytest.mark.parametrize(
    ("expected", "actual", "words"),
    [
        ("(z, later)", "[z, later]", "expected a tuple of 2 to be returned, got a list of 2"),
        ("(z, [later])", "(z, (later,))", "expected a list of 1 as output[1], got a tuple of 1"),
        ("{'a': z}", "{'b': z}", "expected the keys a to be returned, got b"),
        ("(z, [later])", "(z, [later])", ""),
    ],
)
def test_what_is_returned_must_be_the_same_containers(
    bench: Bench, expected: str, actual: str, words: str
) -> None:
    line = "return z, window, later, bits, strides, float(grown), y.data_ptr() % 16"
    case = case_of(tensor("x", 48))
    inputs = bench.inputs(case)
    one, other = (
        bench.ran(
            bench.variant("bounds.py", line, f"return {returned}"),
            "looks_at_memory",
            case,
            inputs=inputs,
        )
        for returned in (expected, actual)
    )
    assert fault(one, other) == words
