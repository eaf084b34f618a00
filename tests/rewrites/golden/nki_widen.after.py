# rewrite: nki_widen
# at: tile = nl.load(x[0:128, nl.ds(c * 32, 32)])
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(4):
        tile = nl.load(x[0:128, nl.ds(c * 512, 512)])
        half = nisa.tensor_scalar(tile, nl.multiply, 0.5)
        nl.store(out[0:128, nl.ds(c * 512, 512)], half)
    return out
