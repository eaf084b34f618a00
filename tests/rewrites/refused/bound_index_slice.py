# rewrite: bound_index
# at: out[0:128, nl.ds(i * 512, 512)]
# refuses: a slice
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 4000), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(8):
        tile = nl.load(x[i, 0:128, 0:512])
        nl.store(out[0:128, nl.ds(i * 512, 512)], tile)
    return out
