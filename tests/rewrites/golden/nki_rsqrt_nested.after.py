# rewrite: nki_rsqrt
# at: result = nl.reciprocal(nl.sqrt(tile))
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    result = nl.rsqrt(tile)
    nl.store(out, result)
    return out
