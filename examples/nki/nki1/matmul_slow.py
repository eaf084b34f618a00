"""A matmul of 16 rows at a time, whose products are added in SBUF."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def matmul(lhs_t, rhs):
    """lhs_t.T @ rhs of lhs_t (K, M) and rhs (K, N); K and M in 128s, N in 512s."""
    depth, rows = lhs_t.shape
    columns = rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for n in nl.affine_range(columns // 512):
        for m in nl.affine_range(rows // 128):
            total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            for k in nl.affine_range(depth // 16):
                left = nl.load(lhs_t[nl.ds(k * 16, 16), nl.ds(m * 128, 128)])
                right = nl.load(rhs[nl.ds(k * 16, 16), nl.ds(n * 512, 512)])
                total += nisa.nc_matmul(left, right)
            result = nisa.tensor_copy(total, dtype=out.dtype)
            nl.store(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out
