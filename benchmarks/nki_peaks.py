"""NKIBench's percentage of peak: the least time of a problem's work over the time of a kernel.

The work is what the problem's operators need, whatever a kernel does: FLOPs of products, FLOPs of
all else without operations on constants, and each input and output once. The benchmark's script
takes 410 GiB/s for the 410 GB/s of Trainium's data sheet, so that what is bound by memory comes out
7.4 % too low; both values are given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.hardware.neuron import NeuronChip

_FP32 = 4


@dataclass(frozen=True)
class Amounts:
    """Of one problem: FLOPs of products, other FLOPs, bytes of inputs and outputs."""

    products: float
    elementwise: float
    bytes: float


@dataclass(frozen=True)
class PeakShare:
    """Percentages of peak of a kernel that takes a given time.

    Attributes:
        benchmark: with the peaks that NKIBench takes.
        data_sheet: the same with the memory bandwidth of the chip's data sheet.
        limit: what the benchmark's peak is bound by: "products", "elementwise" or "memory".
    """

    benchmark: float
    data_sheet: float
    limit: str


def nkibench_amounts(problem: str, sizes: Mapping[str, int]) -> Amounts:
    """The work of a problem of NKIBench by its name and sizes.

    Raises:
        KeyError: there is no such problem, or a size is missing.
    """
    return _AMOUNTS[problem](sizes)


def peak_share(amounts: Amounts, seconds: float, chip: NeuronChip) -> PeakShare | None:
    """The percentages for a time in seconds; None for a chip that NKIBench has no peaks of."""
    peaks = chip.nkibench_peaks
    rates = [peaks[name] for name in ("matmul_tflops", "vector_gflops", "bandwidth_gbs")]
    products, elementwise, memory = rates
    if products is None or elementwise is None or memory is None:
        return None
    times = {
        "products": amounts.products / (products * 1e12),
        "elementwise": amounts.elementwise / (elementwise * 1e9),
        "memory": amounts.bytes / (memory * 1e9),
    }
    limit = max(times, key=lambda name: times[name])
    sheet = {**times, "memory": amounts.bytes / (chip.bandwidth_gbs * 1e9)}
    return PeakShare(100 * times[limit] / seconds, 100 * max(sheet.values()) / seconds, limit)


_Sizes = Mapping[str, int]


def _amounts(products: float, elementwise: float, elements: float) -> Amounts:
    return Amounts(products, elementwise, _FP32 * elements)


def _adamw(s: _Sizes) -> Amounts:
    each = s["M"] * s["N"]
    return _amounts(0, 7 * each, 5 * each)


def _add_rmsnorm_matmul(s: _Sizes) -> Amounts:
    m, n, k = s["M"], s["N"], s["K"]
    return _amounts(2 * m * n * k, 6 * m * k, 2 * m * k + k * n + k + m * n)


def _bmm(s: _Sizes, passes: int = 0) -> Amounts:
    b, m, n, k = s["B"], s["M"], s["N"], s["K"]
    return _amounts(2 * b * m * n * k, passes * b * m * n, b * (m * n + n * k + m * k))


def _gqa(s: _Sizes) -> Amounts:
    b, n, q, kv, d = s["B"], s["N"], s["QH"], s["KH"], s["D"]
    scores = b * q * n * n
    return _amounts(4 * scores * d, 5 * scores, 2 * b * n * d * (q + kv))


def _lora(s: _Sizes) -> Amounts:
    m, n, k, r = s["M"], s["N"], s["K"], s["R"]
    return _amounts(
        2 * (m * n * k + m * k * r + m * n * r), m * n, m * k + k * n + k * r + r * n + m * n
    )


def _mamba(s: _Sizes) -> Amounts:
    m, c, state = s["M"], s["C"], s["S"]
    return _amounts(0, 8 * m * c * state, 3 * c * m + c * state + 2 * state * m)


def _matmul(s: _Sizes) -> Amounts:
    m, n, k = s["M"], s["N"], s["K"]
    return _amounts(2 * m * n * k, 0, m * n + n * k + m * k)


def _matmul_add_rmsnorm(s: _Sizes) -> Amounts:
    m, n, k = s["M"], s["N"], s["K"]
    return _amounts(2 * m * n * k, 6 * m * n, m * k + n * k + 2 * m * n + n)


def _rmsnorm_matmul(s: _Sizes) -> Amounts:
    m, n, k = s["M"], s["N"], s["K"]
    return _amounts(2 * m * n * k, 4 * m * k, m * k + k * n + m * n)


def _rope(s: _Sizes) -> Amounts:
    each = s["B"] * s["H"] * s["N"] * s["D"]
    return _amounts(0, 3 * each, 3 * each)


def _silu(s: _Sizes) -> Amounts:
    each = s["M"] * s["N"]
    return _amounts(0, 3 * each, 2 * each)


def _swiglu(s: _Sizes) -> Amounts:
    m, n, k = s["M"], s["N"], s["K"]
    return _amounts(6 * m * k * n, 5 * m * n, 2 * m * k + 3 * k * n)


_AMOUNTS: Mapping[str, Callable[[_Sizes], Amounts]] = {
    "adamw": _adamw,
    "add_rmsnorm_matmul": _add_rmsnorm_matmul,
    "bmm": _bmm,
    "bmm_softmax": lambda sizes: _bmm(sizes, passes=5),
    "gqa_full": _gqa,
    "lora": _lora,
    "mamba": _mamba,
    "matmul": _matmul,
    "matmul_add_rmsnorm": _matmul_add_rmsnorm,
    "rmsnorm_matmul": _rmsnorm_matmul,
    "rope_single_freq_apply": _rope,
    "silu": _silu,
    "swiglu": _swiglu,
    "transpose_matmul": _matmul,
}
