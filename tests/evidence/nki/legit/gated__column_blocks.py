"""Two blocks of columns for each tile of rows."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gated(x, gate):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    half = (columns + 1) // 2
    i_f = nl.arange(half)[None, :]
    for step in nl.affine_range((rows + 127) // 128 * 2):
        r = step // 2
        first = step % 2 * half
        inside = (r * 128 + i_p < rows) & (first + i_f < columns)
        tile = nl.load(x[r * 128 + i_p, first + i_f], mask=inside)
        other = nl.load(gate[r * 128 + i_p, first + i_f], mask=inside)
        smooth = nisa.activation(nl.silu, tile, mask=inside)
        result = nisa.tensor_tensor(smooth, other, nl.multiply, mask=inside)
        nl.store(out[r * 128 + i_p, first + i_f], result, mask=inside)
    return out
