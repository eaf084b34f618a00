# rewrite: unroll_loop
# at: 255 - i
# refuses: more than 64
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((256, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = [nl.load(x[0:128, 0:512])] * 256
    for i in nl.affine_range(256):
        nl.store(out[i], tiles[255 - i])
    return out
