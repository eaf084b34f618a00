# rewrite: nki_hoist_broadcast
# at: wide = row.broadcast_to((128, 512))
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.load(y[0:1, 0:512])
    for i in nl.affine_range(4):
        tile = nl.load(x[i, 0:128, 0:512])
        wide = row.broadcast_to((128, 512))
        nl.store(out[i], nisa.tensor_tensor(tile, wide, nl.multiply))
    return out
