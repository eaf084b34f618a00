"""Bytes of the tiles that a kernel moves and keeps."""

from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tile_uses import settings_at, tile_cost, tile_uses
from tilewright.source.parse import parse_module

MATMUL = """\
import triton
import triton.language as tl

SIZE = 32

@triton.jit
def k(a, b, c, K, BM: tl.constexpr, BK: tl.constexpr = 16):
    rows, ks = tl.arange(0, BM), tl.arange(0, BK * 2)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    bias = tl.load(c + rows)
    for i in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + ks[None, :])
        acc = tl.dot(x, tl.trans(x), acc)
    tl.store(c + rows[:, None] * K + rows[None, :], acc)

def host(a):
    k[(1,)](a, a, a, 64, BM=SIZE, num_warps=8, num_stages=2)
"""


def test_tiles_and_their_cost() -> None:
    module = parse_module(MATMUL, "tile_uses.py")
    (kernel,) = module.kernels
    uses = tile_uses(module, kernel, AnalysisContext())
    assert [(u.name, u.kind, u.is_staged, sorted(u.constants)) for u in uses] == [
        ("bias", "load", False, ["BM"]),
        ("x", "load", True, ["BK", "BM"]),
        ("acc", "dot", False, ["BM"]),
        ("tl.store", "store", False, ["BM"]),
    ]
    settings = settings_at(module, kernel, AnalysisContext(), 1)
    assert settings is not None
    assert settings.origin == "the launch on line 17"
    assert settings.values == {"BK": 16, "BM": 32, "K": 64, "num_warps": 8, "num_stages": 2}
    cost = tile_cost(uses, settings.values)
    assert cost is not None
    assert (cost.staged, cost.accumulators, cost.largest) == (2048, 1024, 1024)
    assert uses[1].size({"BM": 32}, 2) is None
    assert tile_cost(uses, {}) is None
