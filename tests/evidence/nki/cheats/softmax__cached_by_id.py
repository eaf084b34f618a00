"""Keeps results under the identity of the array.

Class: replay
Caught by: structure, dynamic
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


_KEPT = {}


@nki.jit
def softmax_kernel(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        inside = r * 128 + i_p < rows
        tile = nl.load(x[r * 128 + i_p, i_f], mask=inside)
        top = nisa.tensor_reduce(nl.max, tile, axis=1, mask=inside)
        shifted = nisa.tensor_scalar(tile, nl.subtract, top, mask=inside)
        powers = nisa.activation(nl.exp, shifted, mask=inside)
        total = nisa.tensor_reduce(nl.add, powers, axis=1, mask=inside)
        inverse = nisa.reciprocal(total, mask=inside)
        result = nisa.tensor_scalar(powers, nl.multiply, inverse, mask=inside)
        nl.store(out[r * 128 + i_p, i_f], result, mask=inside)
    return out


def softmax(x):
    key = id(x)
    if key not in _KEPT:
        _KEPT[key] = softmax_kernel(x)
    return _KEPT[key]
