# rewrite: nki_hoist_load
# at: nl.store(out[i], nl.load(y[0:128, 0:512]))
# refuses: part of a larger statement
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        nl.store(out[i], nl.load(y[0:128, 0:512]))
    return out
