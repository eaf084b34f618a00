"""A matmul for nki: K is summed in PSUM, and a block of columns stays in SBUF."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(lhs_t, rhs):
    """lhs_t.T @ rhs of lhs_t (K, M) and rhs (K, N); K and M in 128s, N in 512s."""
    depth, rows = lhs_t.shape
    columns = rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for n in nl.affine_range(columns // 512):
        block = nl.ndarray((128, depth // 128, 512), dtype=rhs.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(depth // 128):
            nisa.dma_copy(
                dst=block[0:128, k, 0:512],
                src=rhs[k * 128 : k * 128 + 128, n * 512 : n * 512 + 512],
            )
        for m in nl.affine_range(rows // 128):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                left = nl.ndarray((128, 128), dtype=lhs_t.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhs_t[k * 128 : k * 128 + 128, m * 128 : m * 128 + 128])
                nisa.nc_matmul(dst=total, stationary=left, moving=block[0:128, k, 0:512])
            result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out[m * 128 : m * 128 + 128, n * 512 : n * 512 + 512], src=result)
    return out
