"""Written with the language's functions, not with instructions."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        inside = r * 128 + i_p < rows
        tile = nl.load(x[r * 128 + i_p, i_f], mask=inside)
        top = nl.max(tile, axis=1, mask=inside)
        shifted = nl.subtract(tile, top, mask=inside)
        powers = nl.exp(shifted, mask=inside)
        total = nl.sum(powers, axis=1, mask=inside)
        inverse = nl.reciprocal(total, mask=inside)
        result = nl.multiply(powers, inverse, mask=inside)
        nl.store(out[r * 128 + i_p, i_f], result, mask=inside)
    return out
