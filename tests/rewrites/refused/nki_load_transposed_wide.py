# rewrite: nki_load_transposed
# at: result = nl.matmul(tile, other)
# refuses: 128 by 128 or less
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    result = nl.matmul(tile, other)
    nl.store(out, result)
    return out
