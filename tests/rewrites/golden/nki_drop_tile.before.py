# rewrite: nki_drop_tile
# at: unused = nisa.tensor_reduce(nl.max, tile, axis=1)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    unused = nisa.tensor_reduce(nl.max, tile, axis=1)
    nl.store(out, nl.add(tile, other))
    return out
