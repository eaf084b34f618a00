"""The order of estimated times against what one H200 measured; no compiler and no GPU is needed."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCORE = Path(__file__).parents[2] / "benchmarks" / "static_cost" / "score.py"
# A kernel and a shape of it; what bounds it differs.
GROUPS = {
    ("matmul", "M=2048, N=8192, K=1024"): 0.9,
    ("attention", "B=4, H=16, T=2048, D=64"): 0.9,
    ("cross_entropy", "M=4096, N=32768"): 0.85,
    ("stencil", "M=64, N=8192"): 0.7,
    ("swiglu", "SIZE=4194304"): 0.8,
    ("transpose", "M=8192, N=8192"): 0.75,
}
# Whole lists that were timed after a first score: repeated elements, widened factors, erf.
LATER = {
    ("dequantize", "M=14336, N=4096"): 0.9,
    ("matmul_int8_weight", "M=256, N=6144, K=3072"): 0.8,
    ("add_gelu", "M=12288, N=5120"): 0.7,
    ("decode_attention", "B=16, H=8, T=4096, D=128"): 0.65,
}


@pytest.fixture(scope="module")
def score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("static_cost_score", SCORE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["static_cost_score"] = module
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCORE.parent)  # as where it is run as a script
        spec.loader.exec_module(module)
    return module


def _named(point: Mapping[str, Any]) -> tuple[str, str]:
    return point["kernel"], ", ".join(f"{k}={v}" for k, v in point["shape"].items())


def test_estimates_keep_the_measured_order(score: ModuleType) -> None:
    points = [point for point in score.measured() if _named(point) in GROUPS]
    groups = {group.name: group for group in score.scored(points, score.reports())}
    assert len(groups) == len(GROUPS)
    for (kernel, shape), least in GROUPS.items():
        group = groups[f"{kernel} {shape}"]
        assert group.rank_correlation >= least, group
        assert group.lost <= 0.06, group


def test_later_lists_keep_their_order_too(score: ModuleType) -> None:
    whole, times, file = score.SETS[-1]
    points = [point for point in score.measured(times) if _named(point) in LATER]
    groups = {group.name: group for group in score.scored(points, score.reports(file))}
    assert whole
    for (kernel, shape), least in LATER.items():
        group = groups[f"{kernel} {shape}"]
        assert group.rank_correlation >= least, group
        assert group.lost <= 0.02, group


def test_equal_values_share_their_rank(score: ModuleType) -> None:
    assert score.ranks([3.0, 1.0, 3.0, 2.0]) == [2.5, 0.0, 2.5, 1.0]


def test_every_measured_launch_compiles_to_what_triton_itself_reports(score: ModuleType) -> None:
    compiled = score.reports()
    for point in score.measured():
        report = compiled[score.launch_key(point)]
        assert report["registers"] == point["registers"]
        assert report["shared_bytes"] == point["shared"]
        assert bool(report["spill_bytes"]) == bool(point["spills"])
