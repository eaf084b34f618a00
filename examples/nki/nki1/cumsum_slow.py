"""Running sums of rows in chunks of 16 columns, each loaded, scanned and stored by itself."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def cumsum(x):
    """Running sums along the rows of x (rows, columns); rows in 128s, columns in 16s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        carry = nl.zeros((128, 1), dtype=nl.float32)
        for c in nl.sequential_range(columns // 16):
            ones = nl.ones((128, 16), dtype=nl.float32)
            tile = nl.load(x[nl.ds(r * 128, 128), nl.ds(c * 16, 16)])
            sums = nisa.tensor_tensor_scan(ones, tile, carry, nl.multiply, nl.add)
            nl.store(out[nl.ds(r * 128, 128), nl.ds(c * 16, 16)], sums)
            carry[0:128, 0:1] = nl.copy(sums[0:128, 15:16])
    return out
