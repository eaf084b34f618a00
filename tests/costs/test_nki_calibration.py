"""The committed constants of the NKI cost model are those of the published profiles, and transfer.

The profiles and what Tilewright counts for them are in benchmarks/nki_cost.json.
"""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numpy", reason="the fit is made with numpy: make setup")

from tilewright.hardware.chips import neuron_chip

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TRN1 = neuron_chip("neuron:trn1")


@cache
def benchmark() -> Any:
    sys.path.insert(0, str(BENCHMARKS))
    import nki_cost

    return nki_cost


def points() -> Any:
    return benchmark().stored()


def test_the_constants_are_the_fit() -> None:
    fit, used = benchmark().fitted(points()), TRN1.calibration
    assert used.serial_share == pytest.approx(fit.share, abs=0.005)
    assert used.scale == pytest.approx(fit.scale, abs=0.005)
    assert used.low == pytest.approx(fit.low, abs=0.01)
    assert used.high == pytest.approx(fit.high, abs=0.01)


def test_no_bound_is_above_what_was_measured() -> None:
    assert len(points()) == 14
    for point in points():
        assert 0.4 < point.bound["trn1"] / point.measured <= 0.9, point.problem


def test_problems_left_out_of_the_fit_are_estimated_within_its_range() -> None:
    transfers = benchmark().left_out(points())
    assert sum(one.inside for one in transfers) >= 12
    assert benchmark().mean_error(transfers) < 1.12
    measured = [one.point.measured for one in transfers]
    usual = [one.fit.estimate(one.point) for one in transfers]
    assert benchmark().rank_correlation(measured, usual) > 0.98


def test_the_published_terms_are_counted() -> None:
    """All but one problem: LoRA's compiler kept transposes that do not fit, and spilled them."""
    exact = {
        name: {point.problem for point in points() if _equal(point, name)}
        for name in ("hardware_flops", "transpose_flops")
    }
    everything = {point.problem for point in points()}
    assert exact == dict.fromkeys(exact, everything - {"lora"})
    unhoisted = {"rope_single_freq_apply", "adamw", "silu", "transpose_matmul"}
    for point in points():
        if point.problem in unhoisted:
            assert _equal(point, "hbm_read_bytes")
            assert _equal(point, "hbm_write_bytes")


def _equal(point: Any, name: str) -> bool:
    return bool((point.profile[name] or 0) == (point.terms[name] or 0))


def test_percentages_of_peak_with_the_benchmarks_units_and_with_the_data_sheets() -> None:
    peaks = benchmark()
    amounts = peaks.nkibench_amounts(
        "rope_single_freq_apply", {"B": 1, "H": 64, "N": 4096, "D": 128}
    )
    assert amounts.bytes == 3 * 4 * 64 * 4096 * 128
    share = peaks.peak_share(amounts, 4.333e-3, TRN1)
    assert share is not None
    assert share.limit == "memory"
    assert share.benchmark == pytest.approx(21.1, abs=0.1)
    assert share.data_sheet / share.benchmark == pytest.approx(440.234 / 410)
    assert peaks.peak_share(amounts, 1e-3, neuron_chip("neuron:trn3")) is None
    with pytest.raises(KeyError):
        peaks.nkibench_amounts("convolution", {})
