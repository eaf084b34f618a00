# rewrite: spread_row
# at: scaled = weight * tile
# refuses: not known
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, w, n):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:n])
    weight = nl.load(w[0:1, 0:n])
    scaled = weight * tile
    nl.store(out, scaled)
    return out
