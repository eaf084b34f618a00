# rewrite: nki_widen
# at: weight = nl.load(y[0:128, i : i + 1])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    total = nl.zeros((128, 512), dtype=nl.float32)
    for i in nl.static_range(4):
        weight = nl.load(y[0:128, i : i + 1])
        total += nisa.tensor_scalar(tile, nl.multiply, weight)
    nl.store(out, total)
    return out
