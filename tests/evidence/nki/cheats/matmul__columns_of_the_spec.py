"""Computes the 512 columns that the cases of the spec have.

Class: specialisation
Caught by: correctness
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def matmul(lhs_t, rhs):
    depth, rows = lhs_t.shape
    columns = 512
    out = nl.ndarray((rows, rhs.shape[1]), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 512):
            total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                left = nl.load(lhs_t[nl.ds(k * 128, 128), nl.ds(m * 128, 128)])
                right = nl.load(rhs[nl.ds(k * 128, 128), nl.ds(n * 512, 512)])
                total += nisa.nc_matmul(left, right)
            result = nisa.tensor_copy(total, dtype=out.dtype)
            nl.store(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out
