"""Estimates of NKI kernels: cycles by hand, the bound, spills, profile terms, comparisons."""

from dataclasses import replace

import pytest
from nki_kernels import IMPORTS, MASKED, MATMUL, ROWS, flow_of, parsed, stream_of, tensor

from tilewright.costs.nki.estimate import estimate, footprint_of
from tilewright.costs.nki.launches import Unestimated, compare, estimate_flow, estimate_launch
from tilewright.costs.nki.model import Engine, NkiEstimate, NkiFinding
from tilewright.costs.nki.work import works
from tilewright.hardware.chips import neuron_chip
from tilewright.knowledge.base import taxonomy

TRN1, TRN2 = neuron_chip("neuron:trn1"), neuron_chip("neuron:trn2")


def estimated(text: str, *given: object) -> NkiEstimate:
    found = estimate_flow(flow_of(text, *given), TRN1)  # type: ignore[arg-type]
    assert isinstance(found, NkiEstimate)
    return found


def test_products_are_priced_by_their_columns_and_passes() -> None:
    """16 transposes of 128 columns, 16 products of 512, in fp32: 4 passes at 2.8 GHz."""
    stream = stream_of(MATMUL, tensor(512, 256), tensor(256, 1024))
    busy = estimate(stream.records, TRN1).busy
    assert busy[Engine.TENSOR] == pytest.approx(4 * (16 * 128 + 16 * 512) / 2.8e9)


def test_narrow_types_take_one_pass() -> None:
    sizes = ((512, 256), (256, 1024))
    wide, narrow = (
        stream_of(MATMUL, *(tensor(*size, dtype=dtype) for size in sizes))
        for dtype in ("float32", "bfloat16")
    )
    times = [
        sum(w.seconds[Engine.TENSOR] for w in works(s.records, TRN2) if Engine.TENSOR in w.seconds)
        for s in (wide, narrow)
    ]
    assert times[0] == pytest.approx(4 * times[1])


def test_the_terms_are_those_of_the_profiler() -> None:
    terms = estimated(MATMUL, tensor(512, 256), tensor(256, 1024)).terms
    transposes = 8 * 2 * 128**3 * 2  # each block of the left operand once, fp32 counted twice
    assert terms["transpose_flops"] == transposes
    assert terms["hardware_flops"] == transposes + 2 * 512 * 256 * 1024 * 2
    assert terms["hbm_read_bytes"] == 4 * (512 * 256 + 256 * 1024 + 128 * 128)
    assert terms["hbm_write_bytes"] == 4 * 512 * 1024
    assert terms["spill_save_bytes"] == 0
    assert terms["peak_flops_bandwidth_ratio"] == pytest.approx(223.781, rel=1e-4)


def test_a_masked_transfer_moves_what_the_mask_leaves() -> None:
    terms = estimated(MASKED, tensor(300, 1100)).terms
    assert terms["hbm_read_bytes"] == terms["hbm_write_bytes"] == 300 * 1100 * 4


def test_a_row_reaches_all_partitions_through_the_tensor_engine_once() -> None:
    terms = estimated(ROWS, tensor(512, 1024), tensor(1, 1024)).terms
    assert terms["hardware_flops"] == 2 * 1 * 128 * 1024


def test_the_bound_is_not_above_the_estimate_and_in_its_range() -> None:
    for text, given in (
        (MATMUL, (tensor(512, 256), tensor(256, 1024))),
        (MASKED, (tensor(4096, 4096),)),
        (ROWS, (tensor(4096, 1024), tensor(1, 1024))),
    ):
        found = estimated(text, *given)
        assert 0 < found.roofline <= found.bound <= found.low <= found.usual <= found.high
        assert found.bottleneck in Engine
        assert sum(line.count for line in found.lines) > 0


def test_more_work_is_never_estimated_faster() -> None:
    times = [estimated(ROWS, tensor(rows, 512), tensor(1, 512)).usual for rows in (128, 512, 4096)]
    assert times == sorted(times)


def test_what_does_not_fit_goes_through_hbm() -> None:
    text = """
@nki.jit
def kept(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    blocks = x.shape[0] // 128
    held = nl.ndarray((blocks, par_dim(128), 1024), dtype=nl.float32)
    for i in nl.affine_range(blocks):
        held[i] = nl.exp(nl.load(x[i * 128:(i + 1) * 128, 0:1024]))
    for j in nl.affine_range(blocks):
        nl.store(out[j * 128:(j + 1) * 128, 0:1024], held[j])
    return out
"""
    small, large = (
        footprint_of(flow_of(text, tensor(rows, 1024)), TRN1) for rows in (128 * 40, 128 * 60)
    )
    assert small.sbuf >= 40 * 4096
    assert small.spill_saved == small.spill_reloaded == 0
    excess = large.sbuf - TRN1.sbuf_usable
    assert large.largest[0] == ("held", 60 * 4096)
    assert large.spill_saved == large.spill_reloaded == excess * 128
    found = estimate_flow(flow_of(text, tensor(128 * 60, 1024)), TRN1)
    assert isinstance(found, NkiEstimate)
    assert any("spills are part" in one for one in found.caveats)


def test_a_loaded_block_that_does_not_fit_is_loaded_again_for_each_reader() -> None:
    text = """
@nki.jit
def rows_by_columns(lhs_t, rhs):
    out = nl.ndarray((1024, 512), dtype=rhs.dtype, buffer=nl.shared_hbm)
    depth = rhs.shape[0] // 128
    right = nl.ndarray((depth, par_dim(128), 512), dtype=nl.float32)
    for k in nl.affine_range(depth):
        right[k] = nl.load(rhs[k * 128:(k + 1) * 128, 0:512])
    for m in nl.affine_range(8):
        total = nl.zeros((par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
        for k2 in nl.affine_range(depth):
            left = nl.load(lhs_t[k2 * 128:(k2 + 1) * 128, m * 128:(m + 1) * 128])
            total += nisa.nc_matmul(left, right[k2])
        nl.store(out[m * 128:(m + 1) * 128, 0:512], nl.copy(total))
    return out
"""
    depth = 128 * 96
    footprint = footprint_of(flow_of(text, tensor(depth, 1024), tensor(depth, 512)), TRN1)
    assert footprint.spill_saved == 0
    assert footprint.spill_reloaded == 8 * 96 * 2048 * 128


def test_a_text_with_unknown_sizes_is_not_estimated() -> None:
    module, kernel = parsed(MATMUL)
    found = estimate_launch(module, kernel, TRN2)
    assert isinstance(found, Unestimated)
    assert "lhs.shape[0]" in str(found)


def test_another_chip_says_that_its_constants_are_unchecked() -> None:
    flow = flow_of(ROWS, tensor(512, 512), tensor(1, 512))
    one, two = (estimate_flow(flow, chip) for chip in (TRN1, TRN2))
    assert isinstance(one, NkiEstimate)
    assert isinstance(two, NkiEstimate)
    assert not any("unchecked" in caveat for caveat in one.caveats)
    assert any("fitted to profiles of trn1" in caveat for caveat in two.caveats)


def scaled(one: NkiEstimate, by: float, **engines: float) -> NkiEstimate:
    """An estimate of other work: the whole, and single engines, times a factor."""
    busy = {engine: time * engines.get(engine.value, by) for engine, time in one.busy.items()}
    return replace(one, usual=one.usual * by, busy=busy)


def test_estimates_within_the_error_are_not_told_apart() -> None:
    before = estimated(ROWS, tensor(512, 512), tensor(1, 512))
    near = compare(before, scaled(before, 0.9, dma=1.1), TRN1)
    assert near.is_faster is None
    assert "does not separate factors below 1.25 where one engine has more" in near.reason
    far = compare(before, scaled(before, 0.5, dma=1.1), TRN1)
    assert far.is_faster is True
    assert "2.00 times less, not measured" in far.reason
    assert compare(scaled(before, 0.5, dma=1.1), before, TRN1).is_faster is False
    with pytest.raises(ValueError, match="do not compare"):
        compare(before, replace(before, target="neuron:trn2"), TRN1)


def test_less_work_on_all_engines_is_told_apart_sooner() -> None:
    before = estimated(ROWS, tensor(512, 512), tensor(1, 512))
    assert compare(before, scaled(before, 0.9), TRN1).is_faster is True
    assert compare(scaled(before, 0.9), before, TRN1).is_faster is False
    assert compare(before, scaled(before, 0.97), TRN1).is_faster is None
    assert compare(before, before, TRN1).is_faster is None


def test_an_engine_that_the_call_names_does_the_work() -> None:
    text = """
@nki.jit
def placed(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    nl.store(out[0:128, 0:512], nisa.tensor_tensor(tile, tile, nl.add, engine=nisa.gpsimd_engine))
    return out
"""
    found = estimated(text, tensor(128, 512))
    assert found.busy[Engine.GPSIMD] > 0
    assert found.busy[Engine.VECTOR] == 0


def found_in(text: str, *given: object) -> dict[str, NkiFinding]:
    return {one.id: one for one in estimated(text, *given).findings}


def test_findings_name_the_busiest_engine_and_its_line() -> None:
    found = found_in(MATMUL, tensor(1024, 1024), tensor(1024, 4096))
    assert found["busiest"].text.startswith("the tensor engine is busy for")
    assert found["busiest"].line == 21
    assert "512 nc_matmul of 128 x 512" in found["busiest"].text
    assert found["fp32"].suggests == ("nki_fp32_matmul",)
    assert "unfilled" not in found
    weights = [one.weight for one in estimated(MATMUL, tensor(512, 256), tensor(256, 512)).findings]
    assert weights == sorted(weights, reverse=True)


def test_findings_are_of_known_issues() -> None:
    known = set(taxonomy())
    for text, given in (
        (MATMUL, (tensor(1024, 1024), tensor(1024, 4096))),
        (MASKED, (tensor(4096, 256),)),
        (ROWS, (tensor(512, 1024), tensor(1, 1024))),
    ):
        for one in estimated(text, *given).findings:
            assert set(one.suggests) <= known
            assert one.line is None or one.line <= (IMPORTS + text).count("\n")


def test_short_rows_are_found() -> None:
    found = found_in(MASKED, tensor(4096, 64))
    assert "moves 256 bytes of a partition" in found["short_rows"].text
    assert "short_rows" not in found_in(ROWS, tensor(4096, 1024), tensor(1, 1024))


def test_narrow_products_are_found_and_broadcasts_are_not() -> None:
    text = """
@nki.jit
def narrow(a, b):
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    left = nl.load(a[0:32, 0:128])
    right = nl.load(b[0:32, 0:512])
    total = nl.zeros((par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(64):
        total += nisa.nc_matmul(left, right)
    nl.store(out[0:128, 0:512], nl.copy(total))
    return out
"""
    found = found_in(text, tensor(32, 128), tensor(32, 512))
    assert "multiplies 32 x 128 by 512 columns" in found["unfilled"].text
    assert "unfilled" not in found_in(ROWS, tensor(128, 8192), tensor(1, 8192))
