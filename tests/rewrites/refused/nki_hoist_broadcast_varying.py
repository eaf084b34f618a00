# rewrite: nki_hoist_broadcast
# at: wide = row.broadcast_to((128, 512))
# refuses: row changes in the loop
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        row = nl.load(y[i, 0:1, 0:512])
        wide = row.broadcast_to((128, 512))
        nl.store(out[i], wide)
    return out
