# rewrite: nki_hoist_load
# at: gain = nl.load(y[i, 0:128, 0:512])
# refuses: i changes in the loop
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        tile = nl.load(x[i, 0:128, 0:512])
        gain = nl.load(y[i, 0:128, 0:512])
        nl.store(out[i], nisa.tensor_tensor(tile, gain, nl.multiply))
    return out
