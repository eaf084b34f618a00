"""Adds as many products as the largest case of the spec has.

Class: specialisation
Caught by: correctness
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def matmul(lhs_t, rhs):
    depth, rows = lhs_t.shape
    columns = rhs.shape[1]
    out = nl.ndarray((rows, columns), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 512):
            total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(min(depth // 128, 3)):
                left = nl.load(lhs_t[nl.ds(k * 128, 128), nl.ds(m * 128, 128)])
                right = nl.load(rhs[nl.ds(k * 128, 128), nl.ds(n * 512, 512)])
                total += nisa.nc_matmul(left, right)
            result = nisa.tensor_copy(total, dtype=out.dtype)
            nl.store(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out
