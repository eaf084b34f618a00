# rewrite: unroll_loop
# at: 1 - i
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((2, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = [nl.load(x[0:128, 0:512]), nl.load(x[128:256, 0:512])]
    for i in nl.affine_range(2):
        nl.store(out[i], tiles[1 - i])
    return out
