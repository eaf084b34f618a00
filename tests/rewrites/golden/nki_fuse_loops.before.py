# rewrite: nki_fuse_loops
# at: again = nl.load(x[nl.ds(r * 128, 128), 0:512])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((1024, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(8):
        tile = nl.load(x[nl.ds(r * 128, 128), 0:512])
        nl.store(out[nl.ds(r * 128, 128), 0:256], tile[0:128, 0:256])
    for r in nl.affine_range(8):
        again = nl.load(x[nl.ds(r * 128, 128), 0:512])
        nl.store(out[nl.ds(r * 128, 128), 256:512], again[0:128, 256:512])
    return out
