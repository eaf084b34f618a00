"""The transpose of a matrix for nki: tiles of 128 by 128 on the Tensor engine."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """x.T of x (M, N), both in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[m * 128 : m * 128 + 128, 0:columns])
        for n in nl.affine_range(columns // 128):
            flipped = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=tile[0:128, n * 128 : n * 128 + 128])
            turned = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=flipped)
            nisa.dma_copy(dst=out[n * 128 : n * 128 + 128, m * 128 : m * 128 + 128], src=turned)
    return out
