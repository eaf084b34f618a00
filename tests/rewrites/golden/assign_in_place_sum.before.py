# rewrite: assign_in_place
# at: total = total + nl.load(x[k, 0:128, 0:512])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, 512), dtype=nl.float32)
    for k in nl.affine_range(8):
        total = total + nl.load(x[k, 0:128, 0:512])
    nl.store(out, total)
    return out
