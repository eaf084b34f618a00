"""The rows that fill no tile in a call of their own."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    rows, columns = x.shape
    P = nl.tile_size.pmax
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    full, left = divmod(rows, P)
    for r in nl.affine_range(full):
        one(x, out, r * P, P)
    if left > 0:
        one(x, out, full * P, left)
    return out


def one(x, out, first, count):
    columns = x.shape[1]
    tile = nl.load(x[nl.ds(first, count), 0:columns])
    low = nisa.tensor_reduce(nl.max, tile, axis=[1], negate=True)
    total = nl.ndarray((nl.par_dim(count), 1), dtype=nl.float32, buffer=nl.sbuf)
    powers = nisa.activation_reduce(
        op=nl.exp, data=tile, bias=low, reduce_op=nl.add, reduce_res=total
    )
    nl.store(out[nl.ds(first, count), 0:columns], value=nl.multiply(powers, nisa.reciprocal(total)))
