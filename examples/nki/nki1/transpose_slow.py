"""The transpose of a matrix by tiles of 32 columns, each loaded by itself."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def transpose(x):
    """x.T of x (M, N), both in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((columns, rows), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 32):
            tile = nl.load(x[nl.ds(m * 128, 128), nl.ds(n * 32, 32)])
            turned = nl.copy(nisa.nc_transpose(tile), dtype=x.dtype)
            nl.store(out[nl.ds(n * 32, 32), nl.ds(m * 128, 128)], turned)
    return out
