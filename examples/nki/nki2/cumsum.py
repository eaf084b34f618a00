"""Running sums of rows for nki: one scan instruction for each tile of rows."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cumsum(x):
    """Running sums along the rows of x (rows, columns); rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    ones = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=ones, value=1.0)
    for r in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + 128, 0:columns])
        sums = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor_scan(
            dst=sums, data0=ones, data1=tile, initial=0.0, op0=nl.multiply, op1=nl.add
        )
        nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, 0:columns], src=sums)
    return out
