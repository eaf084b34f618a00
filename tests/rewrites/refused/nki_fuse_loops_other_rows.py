# rewrite: nki_fuse_loops
# at: every = nl.load(kept[nl.ds(r * 128, 128), 0:512])
# refuses: does not run over the same index
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((1024, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((1152, 512), dtype=x.dtype, buffer=nl.hbm)
    for r in nl.affine_range(8):
        tile = nl.load(x[nl.ds(r * 128, 128), 0:512])
        nl.store(kept[nl.ds(r * 128 + 128, 128), 0:512], tile)
    for r in nl.affine_range(8):
        every = nl.load(kept[nl.ds(r * 128, 128), 0:512])
        nl.store(out[nl.ds(r * 128, 128), 0:512], every)
    return out
