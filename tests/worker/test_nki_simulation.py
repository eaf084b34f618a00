"""Kernels on the NKI simulator: values, faults with their lines, instructions."""

from collections.abc import Callable
from inspect import getsourcelines
from typing import Any

import numpy as np
import pytest

from tilewright.worker.nki import isa as nisa
from tilewright.worker.nki import language
from tilewright.worker.nki.settings import Fault, Limits, Settings, Simulated
from tilewright.worker.nki.simulation import TypedArray, simulate

nl: Any = language
hbm, sbuf, psum = language.shared_hbm, language.sbuf, language.psum
F32: Any = np.float32


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def run(kernel: Callable[..., Any], *arguments: Any, **settings: Any) -> Simulated:
    return simulate(kernel, arguments, settings=Settings(**settings))


def output(kernel: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """What a kernel without faults returns."""
    result = run(kernel, *arguments)
    assert result.faults == ()
    return np.asarray(result.outputs.data)


def fault(kernel: Callable[..., Any], *arguments: Any, **settings: Any) -> Fault:
    """The only error of a kernel, which lies on its line with `# here`."""
    result = run(kernel, *arguments, **settings)
    lines, start = getsourcelines(kernel)
    marked = [start + n for n, line in enumerate(lines) if "# here" in line]
    assert [found.line for found in result.errors] == marked, [str(f) for f in result.faults]
    return result.errors[0]


# --- values --------------------------------------------------------------------------------------


def tiled_matmul(a: Any, b: Any) -> Any:
    """a.T @ b of (K, M) and (K, N)."""
    (k, m), (_, n) = a.shape, b.shape
    out = nl.ndarray((m, n), dtype=nl_float32, buffer=hbm)
    for i in nl.affine_range(m // 128):
        for j in nl.affine_range(n // 512):
            total = nl.zeros((128, 512), nl_float32, buffer=psum)
            for q in nl.affine_range(k // 128):
                left = nl.load(a[q * 128 : (q + 1) * 128, i * 128 : (i + 1) * 128])
                right = nl.load(b[nl.ds(q * 128, 128), nl.ds(j * 512, 512)])
                total += nisa.nc_matmul(left, right)
            nl.store(out[nl.ds(i * 128, 128), nl.ds(j * 512, 512)], nl.copy(total))
    return out


nl_float32 = language.CONSTANTS["float32"]
nl_bfloat16 = language.CONSTANTS["bfloat16"]


def test_a_tiled_product_is_that_of_numpy() -> None:
    a, b = normal(256, 256), normal(256, 1024, seed=1)
    np.testing.assert_allclose(output(tiled_matmul, a, b), a.T @ b, rtol=1e-4, atol=1e-4)


def test_instructions_of_one_line_are_counted() -> None:
    result = run(tiled_matmul, normal(256, 256), normal(256, 1024, seed=1))
    by_name = {record["op"]: record for record in result.records}
    product = by_name["nki.isa.nc_matmul"]
    assert product["count"] == 2 * 2 * 2
    assert (product["k"], product["m"], product["n"]) == (128, 128, 512)
    assert product["accumulate"]
    assert [part["memory"] for part in product["reads"]] == ["SBUF", "SBUF"]
    assert [part["memory"] for part in product["writes"]] == ["PSUM"]
    loads = [r for r in result.records if r["op"] == "nki.language.load"]
    assert [r["count"] for r in loads] == [8, 8]
    assert [r["bytes"] for r in loads] == [128 * 128 * 4, 128 * 512 * 4]
    stores = by_name["nki.language.store"]
    assert (stores["count"], stores["bytes"]) == (4, 128 * 512 * 4)


def indexed_copy(x: Any) -> Any:
    out = nl.ndarray((100, 300), dtype=x.dtype, buffer=hbm)
    rows, columns = nl.arange(64)[:, None], nl.arange(128)[None, :]
    for i in nl.affine_range(2):
        for j in nl.affine_range(3):
            inside = (i * 64 + rows < 100) & (j * 128 + columns < 300)
            tile = nl.load(x[i * 64 + rows, j * 128 + columns], mask=inside)
            doubled = nl.multiply(tile, 2.0, mask=inside)
            nl.store(out[i * 64 + rows, j * 128 + columns], doubled, mask=inside)
    return out


def test_masks_cut_loads_and_stores() -> None:
    x = normal(100, 300)
    np.testing.assert_array_equal(output(indexed_copy, x), x * 2)


def grouped_axes(x: Any) -> Any:
    """Three axes of index expressions on two dimensions of the memory."""
    out = nl.ndarray((128, 64), dtype=x.dtype, buffer=hbm)
    tile = nl.ndarray((nl.par_dim(128), 64), dtype=x.dtype, buffer=sbuf)
    p = nl.arange(128)[:, None, None]
    outer, inner = nl.arange(8)[None, :, None], nl.arange(8)[None, None, :]
    tile[p, 8 * outer + inner] = nl.load(x[p, outer + 8 * inner])
    nl.store(out[0:128, 0:64], tile)
    return out


def test_several_ranges_on_one_dimension_are_one_strided_view() -> None:
    x = normal(128, 64)
    expected = x.reshape(128, 8, 8).transpose(0, 2, 1).reshape(128, 64)
    np.testing.assert_array_equal(output(grouped_axes, x), expected)


def narrow_sum(x: Any) -> Any:
    out = nl.ndarray((128, 1), dtype=nl_bfloat16, buffer=hbm)
    tile = nl.load(x[0:128, 0:64], dtype=nl_bfloat16)
    nl.store(out[0:128, 0:1], nl.sum(tile, axis=1))
    return out


def test_stores_round_and_engines_compute_in_fp32() -> None:
    x = normal(128, 64)
    narrow = np.asarray(language.CONSTANTS["bfloat16"].cast(x))  # type: ignore[attr-defined]
    expected = language.CONSTANTS["bfloat16"].cast(  # type: ignore[attr-defined]
        narrow.sum(axis=1, keepdims=True)
    )
    result = run(narrow_sum, x)
    assert result.outputs.dtype == "bfloat16"
    np.testing.assert_array_equal(result.outputs.data, expected)


def looped_maximum(x: Any) -> Any:
    out = nl.ndarray((128, 1), dtype=x.dtype, buffer=hbm)
    highest = nl.ndarray((128, 1), dtype=x.dtype, buffer=sbuf)
    for i in nl.affine_range(4):
        part = nl.max(nl.load(x[0:128, i * 32 : (i + 1) * 32]), axis=1)
        highest[...] = nl.loop_reduce(part, op=np.max, loop_indices=[i])
    nl.store(out[0:128, 0:1], highest)
    return out


@pytest.mark.parametrize("reverse", [False, True])
def test_loop_reduce_begins_with_the_turn_that_runs_first(reverse: bool) -> None:
    x = normal(128, 128)
    result = run(looped_maximum, x, reverse=reverse)
    assert result.faults == ()
    np.testing.assert_array_equal(result.outputs.data, x.max(axis=1, keepdims=True))


def test_a_tensor_wider_than_memory_takes_only_what_is_written() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 512), dtype=x.dtype, buffer=hbm)
        huge = nl.ndarray((1 << 20, nl.par_dim(128), 512), dtype=x.dtype, buffer=sbuf)
        huge[77] = nl.load(x[0:128, 0:512])
        nl.store(out[0:128, 0:512], huge[77])
        return out

    x = normal(128, 512)
    np.testing.assert_array_equal(output(kernel, x), x)


def test_program_instances_write_one_output() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((256, 8), dtype=x.dtype, buffer=hbm)
        i = nl.program_id(0)
        nl.store(out[nl.ds(i * 128, 128), 0:8], nl.load(x[nl.ds(i * 128, 128), 0:8]))
        return out

    x = normal(256, 8)
    for backwards in (False, True):
        result = simulate(kernel, [x], (2,), Settings(reverse_instances=backwards))
        assert result.faults == ()
        np.testing.assert_array_equal(result.outputs.data, x)


# --- faults --------------------------------------------------------------------------------------


def test_an_output_that_is_not_stored_whole_is_reported() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)  # here
        nl.store(out[0:128, 0:7], nl.load(x[0:128, 0:7]))
        return out

    found = fault(kernel, normal(128, 8))
    assert found.kind == "unwritten"
    assert "128 of 1024" in found.message
    assert "[0, 7]" in found.message


def test_memory_that_was_never_written_is_followed_to_the_output() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 1), dtype=x.dtype, buffer=hbm)
        tile = nl.ndarray((128, 8), dtype=x.dtype, buffer=sbuf, name="scratch")
        tile[0:128, 0:7] = nl.load(x[0:128, 0:7])
        total = nl.sum(tile, axis=1)
        nl.store(out[0:128, 0:1], nl.maximum(total, 0.0))  # here
        return out

    found = fault(kernel, normal(128, 8))
    assert found.kind == "uninitialized"
    assert "scratch" in found.message


def test_what_a_masked_load_leaves_out_is_undefined() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        p, f = nl.arange(128)[:, None], nl.arange(8)[None, :]
        tile = nl.load(x[p, f], mask=p < 100)
        nl.store(out[p, f], nl.exp(tile))  # here
        return out

    assert fault(kernel, normal(100, 8)).kind == "uninitialized"


def test_a_partly_masked_tile_is_copied_to_a_tile_of_its_shape() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((100, 8), dtype=x.dtype, buffer=hbm)
        p, f = nl.arange(128)[:, None], nl.arange(8)[None, :]
        held = nl.ndarray((128, 8), dtype=x.dtype, buffer=sbuf)
        held[...] = nl.copy(nl.load(x[p, f], mask=p < 100))
        nl.store(out[p, f], held[p, f], mask=p < 100)
        return out

    x = normal(100, 8)
    np.testing.assert_array_equal(output(kernel, x), x)


def test_a_scan_from_an_undefined_column_is_undefined() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        state = nl.ndarray((128, 1), dtype=x.dtype, buffer=sbuf)
        part = nl.load(x[0:128, 0:8])
        scan = nisa.tensor_tensor_scan(part, part, state, np.multiply, np.add)
        nl.store(out[0:128, 0:8], scan)  # here
        return out

    assert fault(kernel, normal(128, 8)).kind == "uninitialized"


def test_a_sum_in_an_affine_loop_needs_an_accumulation() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        state = nl.ndarray((128, 8), dtype=x.dtype, buffer=sbuf)
        state[...] = nl.load(x[0:128, 0:8])
        for _i in nl.affine_range(4):
            state[...] = nl.multiply(state, 0.5)  # here
        nl.store(out[0:128, 0:8], state)
        return out

    result = run(kernel, normal(128, 8))
    lines, start = getsourcelines(kernel)
    here = start + next(n for n, line in enumerate(lines) if "# here" in line)
    assert {(f.kind, f.line) for f in result.errors} == {("loop-order", here)}


def test_turns_that_write_the_same_rows_are_reported() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        for i in nl.affine_range(2):
            nl.store(out[0:128, 0:8], nl.load(x[0:128, i * 8 : (i + 1) * 8]))  # here
        return out

    assert fault(kernel, normal(128, 16)).kind == "loop-order"


def test_a_sequential_loop_may_carry_values() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        state = nl.ndarray((128, 8), dtype=x.dtype, buffer=sbuf)
        state[...] = nl.load(x[0:128, 0:8])
        for _ in nl.sequential_range(4):
            state[...] = nl.multiply(state, 0.5)
        nl.store(out[0:128, 0:8], state)
        return out

    x = normal(128, 8)
    np.testing.assert_array_equal(output(kernel, x), x / 16)


def test_program_instances_that_write_the_same_rows_are_reported() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        nl.store(out[0:128, 0:8], nl.load(x[0:128, 0:8]))
        return out

    result = simulate(kernel, [normal(128, 8)], (2,), Settings())
    assert [f.kind for f in result.errors] == ["program-order"]


def test_a_tile_ends_with_the_turn_that_made_it() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, 8), dtype=x.dtype, buffer=hbm)
        total = nl.load(x[0:128, 0:8])
        for i in nl.affine_range(2):
            total = nl.add(total, nl.load(x[0:128, i * 8 : (i + 1) * 8]))  # here
        nl.store(out[0:128, 0:8], total)
        return out

    assert fault(kernel, normal(128, 16)).kind == "scope"


def _of_rows(rows: int) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        return nl.load(x[0:rows, 0:8])  # here

    return kernel


def test_limits_are_those_that_are_sent() -> None:
    assert fault(_of_rows(129), normal(256, 8)).kind == "limit"
    assert fault(_of_rows(64), normal(256, 8), limits=Limits(partitions=32)).kind == "limit"


def test_indices_outside_a_tensor_stop_the_kernel() -> None:
    def kernel(x: Any) -> Any:
        return nl.load(x[nl.arange(128)[:, None], 1 + nl.arange(8)[None, :]])  # here

    found = fault(kernel, normal(128, 8))
    assert found.kind == "out-of-bounds"
    assert "1 to 8" in found.message


def test_products_take_operands_of_sbuf_of_the_same_partitions() -> None:
    def wide(x: Any) -> Any:
        tile = nl.load(x[0:128, 0:513])
        return nisa.nc_matmul(tile[0:128, 0:128], tile)  # here

    def in_psum(x: Any) -> Any:
        tile = nl.load(x[0:128, 0:128])
        return nisa.nc_matmul(nisa.nc_matmul(tile, tile), tile)  # here

    def partitions(x: Any) -> Any:
        tile = nl.load(x[0:128, 0:128])
        return nisa.nc_matmul(tile[0:64, 0:128], tile)  # here

    kinds = [fault(kernel, normal(128, 513)).kind for kernel in (wide, in_psum, partitions)]
    assert kinds == ["limit", "memory", "shape"]


def test_what_the_language_refuses_is_named() -> None:
    def bare_range(x: Any) -> Any:
        return nl.load(x[nl.arange(128), 0:8])  # here

    def mixed(x: Any) -> Any:
        return nl.load(x[nl.arange(128)[:, None], 0:8])  # here

    def truth(x: Any) -> Any:
        return 1 if nl.load(x[0:128, 0:8]) else 2  # here

    def argument_written(x: Any) -> Any:
        nl.store(x[0:128, 0:8], nl.load(x[0:128, 0:8]))  # here

    def second_partition(x: Any) -> Any:
        tile = nl.load(x[0:128, 0:8])
        return nl.exp(tile[1:65, 0:8])  # here

    expected = {
        bare_range: "index", mixed: "index", truth: "index", argument_written: "read-only",
        second_partition: "start-partition",
    }  # fmt: skip
    for kernel, kind in expected.items():
        assert fault(kernel, normal(128, 8)).kind == kind


def test_an_exception_of_the_kernel_is_a_fault_on_its_line() -> None:
    def kernel(x: Any) -> Any:
        raise ValueError("rows")  # here

    found = fault(kernel, normal(128, 8))
    assert found.kind == "exception"
    assert "rows" in found.message


def test_bf16_arguments_come_with_their_type() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=hbm)
        nl.store(out[0:128, 0:8], nl.multiply(nl.load(x[0:128, 0:8]), 3.0, dtype=x.dtype))
        return out

    x = np.asarray(language.CONSTANTS["bfloat16"].cast(normal(128, 8)))  # type: ignore[attr-defined]
    result = run(kernel, TypedArray(x, "bfloat16"))
    expected = language.CONSTANTS["bfloat16"].cast(x * 3)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(result.outputs.data, expected)
