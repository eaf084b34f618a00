# rewrite: nki_widen
# at: nisa.dma_copy(dst=tile, src=x[0:128, c * 32 : c * 32 + 32])
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(4):
        tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[0:128, c * 512 : c * 512 + 512])
        half = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(half, tile, nl.multiply, 0.5)
        nisa.dma_copy(dst=out[0:128, c * 512 : c * 512 + 512], src=half)
    return out
