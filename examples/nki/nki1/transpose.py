"""The transpose of a matrix for neuronxcc.nki: tiles of 128 by 128 on the Tensor engine."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def transpose(x):
    """x.T of x (M, N), both in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        tile = nl.load(x[nl.ds(m * 128, 128), 0:columns])
        for n in nl.affine_range(columns // 128):
            turned = nl.copy(nisa.nc_transpose(tile[0:128, nl.ds(n * 128, 128)]), dtype=x.dtype)
            nl.store(out[nl.ds(n * 128, 128), nl.ds(m * 128, 128)], turned)
    return out
