# rewrite: logical_call
# at: above and below
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    above = nl.greater(tile, 0.0)
    below = nl.less(tile, 1.0)
    nl.store(out, above and below)
    return out
