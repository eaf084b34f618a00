# rewrite: logical_call
# at: wanted and above
# refuses: no tile
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, wanted):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    above = nl.greater(tile, 0.0)
    nl.store(out, wanted and above)
    return out
