# rewrite: nki_sequential_writes
# at: nl.store(out[i, 0:128, 0:512], tile)
# refuses: no affine_range around it
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        tile = nl.load(x[i, 0:128, 0:512])
        nl.store(out[i, 0:128, 0:512], tile)
    return out
