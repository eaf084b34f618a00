# rewrite: nki_reuse_load
# at: again = nl.load(x[0:128, 0:512])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    top = nisa.tensor_reduce(nl.max, tile, axis=1)
    result = nisa.tensor_scalar(tile, nl.subtract, top)
    nl.store(out, result)
    return out
