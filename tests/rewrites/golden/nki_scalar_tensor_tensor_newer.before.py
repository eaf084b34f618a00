# rewrite: nki_scalar_tensor_tensor
# at: nisa.tensor_tensor(result, part, other, nl.add)
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0:128, 0:512])
    other = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=other, src=y[0:128, 0:512])
    part = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(part, tile, nl.multiply, 0.9)
    nisa.tensor_tensor(result, part, other, nl.add)
    nisa.dma_copy(dst=out, src=result)
    return out
