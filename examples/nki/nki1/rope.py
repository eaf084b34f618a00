"""Rotary position embedding for neuronxcc.nki: whole rows, each tensor loaded once."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def rope(x, cos, sin):
    """Rotates the halves of the rows of x (heads, length, 2 D) by cos, sin (length, D).

    length in 128s."""
    heads, length, size = x.shape
    half = size // 2
    out = nl.ndarray((heads, length, size), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(length // 128):
        c = nl.load(cos[nl.ds(t * 128, 128), 0:half])
        s = nl.load(sin[nl.ds(t * 128, 128), 0:half])
        for h in nl.affine_range(heads):
            tile = nl.load(x[h, nl.ds(t * 128, 128), 0:size])
            result = nl.ndarray((nl.par_dim(128), size), dtype=x.dtype)
            left, right = tile[0:128, 0:half], tile[0:128, half:size]
            along = nisa.tensor_tensor(left, c, nl.multiply)
            across = nisa.tensor_tensor(right, s, nl.multiply)
            result[0:128, 0:half] = nisa.tensor_tensor(along, across, nl.subtract)
            back = nisa.tensor_tensor(right, c, nl.multiply)
            over = nisa.tensor_tensor(left, s, nl.multiply)
            result[0:128, half:size] = nisa.tensor_tensor(back, over, nl.add)
            nl.store(out[h, nl.ds(t * 128, 128), 0:size], result)
    return out
