# rewrite: spread_row
# at: scaled = weight * tile
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, w):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    weight = nl.load(w[0:1, 0:512])
    scaled = weight * tile
    nl.store(out, scaled)
    return out
