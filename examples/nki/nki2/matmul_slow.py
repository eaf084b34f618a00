"""A matmul of 16 rows at a time, whose products are added in SBUF."""

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
        for m in nl.affine_range(rows // 128):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=total, value=0.0)
            for k in nl.affine_range(depth // 16):
                left = nl.ndarray((16, 128), dtype=lhs_t.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhs_t[k * 16 : k * 16 + 16, m * 128 : m * 128 + 128])
                right = nl.ndarray((16, 512), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=right, src=rhs[k * 16 : k * 16 + 16, n * 512 : n * 512 + 512])
                product = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=product, stationary=left, moving=right)
                nisa.tensor_tensor(dst=total, data1=total, data2=product, op=nl.add)
            result = nl.ndarray((128, 512), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out[m * 128 : m * 128 + 128, n * 512 : n * 512 + 512], src=result)
    return out
