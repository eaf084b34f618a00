# rewrite: nki_activation_sum
# at: nisa.tensor_reduce(total, nl.add, weights, axis=1)
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
    weights = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(weights, nl.exp, tile, reduce_op=nl.add, reduce_res=total)
    nisa.tensor_scalar(result, weights, nl.divide, total)
    nisa.dma_copy(dst=out, src=result)
    return out
