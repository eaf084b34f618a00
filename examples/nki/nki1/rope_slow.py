"""Rotary position embedding: 16 columns at a time, loaded for each output that reads them."""

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
        for h in nl.affine_range(heads):
            for b in nl.affine_range(half // 16):
                c = nl.load(cos[nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                s = nl.load(sin[nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                left = nl.load(x[h, nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                right = nl.load(x[h, nl.ds(t * 128, 128), nl.ds(half + b * 16, 16)])
                along = nisa.tensor_tensor(left, c, nl.multiply)
                across = nisa.tensor_tensor(right, s, nl.multiply)
                first = nisa.tensor_tensor(along, across, nl.subtract)
                nl.store(out[h, nl.ds(t * 128, 128), nl.ds(b * 16, 16)], first)
        for h in nl.affine_range(heads):
            for b in nl.affine_range(half // 16):
                c2 = nl.load(cos[nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                s2 = nl.load(sin[nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                left2 = nl.load(x[h, nl.ds(t * 128, 128), nl.ds(b * 16, 16)])
                right2 = nl.load(x[h, nl.ds(t * 128, 128), nl.ds(half + b * 16, 16)])
                back = nisa.tensor_tensor(right2, c2, nl.multiply)
                over = nisa.tensor_tensor(left2, s2, nl.multiply)
                second = nisa.tensor_tensor(back, over, nl.add)
                nl.store(out[h, nl.ds(t * 128, 128), nl.ds(half + b * 16, 16)], second)
    return out
