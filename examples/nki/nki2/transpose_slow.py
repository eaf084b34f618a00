"""The transpose of a matrix by tiles of 32 columns, each loaded by itself."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    """x.T of x (M, N), both in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 32):
            tile = nl.ndarray((128, 32), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[m * 128 : m * 128 + 128, n * 32 : n * 32 + 32])
            flipped = nl.ndarray((32, 128), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=tile)
            turned = nl.ndarray((32, 128), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=flipped)
            nisa.dma_copy(dst=out[n * 32 : n * 32 + 32, m * 128 : m * 128 + 128], src=turned)
    return out
