"""Softmax over rows for neuronxcc.nki: the sum comes from the instruction that exponentiates."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    """Softmax over the rows of x (rows, columns); rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        tile = nl.load(x[nl.ds(r * 128, 128), 0:columns])
        lowest = nisa.tensor_reduce(nl.max, tile, axis=1, negate=True)
        total = nl.ndarray((128, 1), dtype=nl.float32)
        weights = nisa.activation_reduce(
            nl.exp, tile, bias=lowest, reduce_op=nl.add, reduce_res=total
        )
        inverse = nisa.reciprocal(total)
        result = nisa.tensor_scalar(weights, nl.multiply, inverse)
        nl.store(out[nl.ds(r * 128, 128), 0:columns], result)
    return out
