"""Chips as data: all there, every figure with its source, nothing impossible."""

import pytest

from tilewright.hardware.chips import all_chips, chip, neuron_chip, neuron_chips
from tilewright.hardware.model import Chip, HardwareError
from tilewright.hardware.neuron import NeuronChip
from tilewright.targets.model import Target

CHIPS = all_chips()


def test_the_targets() -> None:
    assert [c.id for c in CHIPS] == [
        *(f"cuda:{arch}" for arch in (75, 80, 86, 89, 90, 100, 120)),
        *(f"hip:{arch}" for arch in ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")),
        *(f"xpu:{arch}" for arch in ("pvc", "dg2", "lnl", "bmg-g21", "bmg-g31", "ptl")),
    ]


def test_by_target_or_by_name() -> None:
    assert chip(Target("cuda", "90")) is chip("cuda:90")
    assert (chip("xpu:bmg-g31").backend, chip("xpu:bmg-g31").arch) == ("xpu", "bmg-g31")


def test_an_unknown_target_names_the_nearest() -> None:
    with pytest.raises(HardwareError, match=r"unknown target 'cuda:91'; the nearest are cuda:90"):
        chip("cuda:91")


@pytest.mark.parametrize("one", CHIPS, ids=lambda c: c.id)
def test_every_figure_has_a_source(one: Chip) -> None:
    assert set(one.figures) <= set(one.sources)
    for name in ("memory_gb", "bandwidth_gbs", "l2_bytes"):
        if getattr(one, name) is None:
            assert "not known" in one.sources[name]


@pytest.mark.parametrize("one", CHIPS, ids=lambda c: c.id)
def test_every_rate_has_a_source_or_is_not_known(one: Chip) -> None:
    assert one.rates is not None
    figures = vars(one.rates).keys() - {"sources"}
    assert set(one.rates.sources) == figures
    for name in figures:
        if getattr(one.rates, name) is None:
            said = one.rates.sources[name]
            assert "not known" in said or "not published" in said or "not confirmed" in said


@pytest.mark.parametrize("one", CHIPS, ids=lambda c: c.id)
def test_rates_multiply_to_the_peaks(one: Chip) -> None:
    """Stated peaks may assume a lower clock for tensor instructions: 8 % on H100."""
    assert one.rates is not None
    assert one.rates.clock_mhz is not None
    cycles = one.compute_units * one.rates.clock_mhz / 1e6
    rates = {**one.rates.tensor_flops, "fp32": 2 * (one.rates.fp32_lanes or 0)}
    known = {name: flops for name, flops in rates.items() if one.peaks[name] is not None}
    assert known
    for name, flops in known.items():
        assert cycles * flops == pytest.approx(one.peaks[name], rel=0.09), name


@pytest.mark.parametrize("one", CHIPS, ids=lambda c: c.id)
def test_a_unit_has_room_for_the_largest_program(one: Chip) -> None:
    residency = one.residency
    assert residency is not None
    assert residency.source
    assert residency.shared_bytes >= one.shared_limit
    assert residency.shared_taken(one.shared_limit) <= residency.shared_bytes
    assert list(residency.shared_sizes) == sorted(residency.shared_sizes)
    assert residency.partitions * residency.warps >= one.max_warps


def test_shared_memory_comes_in_steps() -> None:
    xe, hopper, cdna = (chip(name).residency for name in ("xpu:pvc", "cuda:90", "hip:gfx942"))
    assert xe is not None
    assert [xe.shared_taken(n) for n in (0, 1, 1025, 16385, 40000, 131072)] == [
        0, 1024, 2048, 24576, 49152, 131072,
    ]  # fmt: skip
    assert hopper is not None
    assert [hopper.shared_taken(n) for n in (0, 1, 1024)] == [1024, 1152, 2048]
    assert cdna is not None
    assert cdna.shared_taken(513) == 1024


@pytest.mark.parametrize("one", CHIPS, ids=lambda c: c.id)
def test_figures_agree_with_each_other(one: Chip) -> None:
    assert one.shared_limit <= one.shared_per_unit
    assert one.warp_size in (8, 16, 32, 64)
    large = one.max_warps_large_registers or one.max_warps
    assert one.register_bytes <= one.register_file_bytes
    assert large <= one.max_warps
    if one.backend != "xpu":
        assert one.register_bytes == one.max_registers * 4 * one.warp_size
    assert set(one.peaks) == {"fp16", "bf16", "tf32", "fp32", "fp64", "fp8", "int8"}
    known = [one.peaks[name] for name in ("int8", "fp16", "fp32", "fp64")]
    rates = [rate for rate in known if rate is not None]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("one", neuron_chips(), ids=lambda c: c.id)
def test_every_figure_of_a_neuron_core_has_a_source(one: NeuronChip) -> None:
    assert set(one.figures) == set(one.sources)
    assert all(one.sources.values())
    assert set(one.uncertain) <= set(one.figures)


@pytest.mark.parametrize("one", neuron_chips(), ids=lambda c: c.id)
def test_figures_of_a_neuron_core_fit_each_other(one: NeuronChip) -> None:
    peak = 2e-6 * one.partitions * one.stationary_columns * one.clock_mhz["tensor"]
    assert one.tensor_tflops["bf16"] == pytest.approx(peak, rel=0.01)
    assert one.tensor_tflops["fp32"] == pytest.approx(peak / one.fp32_passes, rel=0.01)
    assert one.bandwidth_gbs == pytest.approx(one.device_bandwidth_gbs / one.cores, rel=0.01)
    assert one.psum_bytes == 8 * one.psum_bank_bytes
    assert one.moving_columns * 4 == one.psum_bank_bytes
    assert 0 < one.sbuf_usable < one.sbuf_bytes
    assert set(one.clock_mhz) == {"tensor", "vector", "scalar", "gpsimd"}


def test_a_core_of_trn1_has_the_published_peak() -> None:
    """neuron-profile states 91.75 TFLOP/s, and 223.8 operations a byte of HBM."""
    one = neuron_chip("neuron:trn1")
    assert one.tensor_tflops["bf16"] == 91.75
    assert 91.75e12 / (one.bandwidth_gbs * 1e9) == pytest.approx(223.781, rel=1e-4)


def test_gpus_and_neuron_cores_are_not_mixed_up() -> None:
    with pytest.raises(HardwareError, match="neuron:trn2 is a NeuronCore"):
        chip("neuron:trn2")
    with pytest.raises(HardwareError, match="cuda:90 is a GPU"):
        neuron_chip("cuda:90")
    with pytest.raises(HardwareError, match="unknown target 'neuron:trn9'"):
        neuron_chip("neuron:trn9")
