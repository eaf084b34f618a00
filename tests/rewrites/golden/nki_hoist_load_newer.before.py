# rewrite: nki_hoist_load
# at: nisa.dma_copy(dst=gain, src=y[0:128, 0:512])
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(4):
        tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[i, 0:128, 0:512])
        gain = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gain, src=y[0:128, 0:512])
        result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(result, tile, gain, nl.multiply)
        nisa.dma_copy(dst=out[i], src=result)
    return out
