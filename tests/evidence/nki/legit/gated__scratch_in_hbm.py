"""Keeps an intermediate in memory of its own."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gated(x, gate):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    kept = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.private_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        inside = r * 128 + i_p < rows
        tile = nl.load(x[r * 128 + i_p, i_f], mask=inside)
        other = nl.load(gate[r * 128 + i_p, i_f], mask=inside)
        smooth = nisa.activation(nl.silu, tile, mask=inside)
        nl.store(kept[r * 128 + i_p, i_f], smooth, mask=inside)
        smooth = nl.load(kept[r * 128 + i_p, i_f], mask=inside)
        result = nisa.tensor_tensor(smooth, other, nl.multiply, mask=inside)
        nl.store(out[r * 128 + i_p, i_f], result, mask=inside)
    return out
