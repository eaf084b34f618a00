# rewrite: nki_reuse_stored
# at: again = nl.load(kept[0:128, 0:512])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    half = nisa.tensor_scalar(tile, nl.multiply, 0.5)
    nl.store(kept[0:128, 0:512], half)
    again = nl.load(kept[0:128, 0:512])
    nl.store(out, nl.add(again, other))
    return out
