# rewrite: nki_widen
# at: nisa.dma_copy(dst=weight, src=y[0:128, i : i + 1])
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0:128, 0:512])
    total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    y_columns = nl.ndarray((128, 4), dtype=y.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=y_columns, src=y[0:128, 0:4])
    for i in nl.static_range(4):
        weight = y_columns[0:128, i : i + 1]
        nisa.scalar_tensor_tensor(total, tile, nl.multiply, weight, nl.add, total)
    nisa.dma_copy(dst=out, src=total)
    return out
