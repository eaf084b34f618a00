"""A gated unit, silu(x) * gate: 32 columns at a time, and the sigmoid put together by hand."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gated(x, gate):
    """silu(x) * gate of two matrices (rows, columns); rows need not fill the last tile."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(32)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        inside = r * 128 + i_p < rows
        for c in nl.affine_range(columns // 32):
            tile = nl.load(x[r * 128 + i_p, c * 32 + i_f], mask=inside)
            other = nl.load(gate[r * 128 + i_p, c * 32 + i_f], mask=inside)
            e = nisa.activation(nl.exp, tile, scale=-1.0, mask=inside)
            below = nisa.tensor_scalar(e, nl.add, 1.0, mask=inside)
            sigmoid = nisa.reciprocal(below, mask=inside)
            smooth = nisa.tensor_tensor(tile, sigmoid, nl.multiply, mask=inside)
            result = nisa.tensor_tensor(smooth, other, nl.multiply, mask=inside)
            nl.store(out[r * 128 + i_p, c * 32 + i_f], result, mask=inside)
    return out
