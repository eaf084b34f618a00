"""Running sums of rows in chunks of 16 columns, each loaded, scanned and stored by itself."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cumsum(x):
    """Running sums along the rows of x (rows, columns); rows in 128s, columns in 16s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        carry = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=carry, value=0.0)
        for c in nl.sequential_range(columns // 16):
            ones = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=ones, value=1.0)
            tile = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + 128, c * 16 : c * 16 + 16])
            sums = nl.ndarray((128, 16), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor_scan(
                dst=sums, data0=ones, data1=tile, initial=carry, op0=nl.multiply, op1=nl.add
            )
            nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, c * 16 : c * 16 + 16], src=sums)
            nisa.tensor_copy(dst=carry, src=sums[0:128, 15:16])
    return out
