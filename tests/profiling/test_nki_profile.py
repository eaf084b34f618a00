"""The profile of an NKI kernel: an estimate with findings, and nothing that was measured."""

from tilewright.profiling.run import profile_source
from tilewright.targets.registry import parse_target

FIXED = """
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

@nki.jit
def narrow(a, b):
    out = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.load(a[0:32, 0:128])
    right = nl.load(b[0:32, 0:512])
    total = nl.zeros((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.psum)
    for i in nl.affine_range(64):
        total += nisa.nc_matmul(left, right)
    nl.store(out[0:128, 0:512], nl.copy(total))
    return out
"""


def test_findings_of_an_estimate_are_not_measured() -> None:
    told = profile_source(
        FIXED, "narrow.py", None, parse_target("trn2"), lambda percent, message: None
    )
    (kernel,) = told["kernels"]
    assert kernel["time"] is None
    assert kernel["bottleneck"] == "tensor"
    found = {one["id"]: one for one in kernel["findings"]}
    assert found["unfilled"]["suggests"] == ["nki_small_matmul_tile"]
    assert found["unfilled"]["line"] == 13
    assert not any(one["measured"] for one in kernel["findings"])
    assert all(one["text"].startswith("by the estimate, ") for one in kernel["findings"])
    assert kernel["estimate"]["terms"]["hardware_flops"] == 64 * 2 * 32 * 128 * 512 * 2
