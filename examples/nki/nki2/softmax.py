"""Softmax over rows for nki: the sum comes from the instruction that exponentiates."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax(x):
    """Softmax over the rows of x (rows, columns); rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + 128, 0:columns])
        lowest = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=lowest, op=nl.maximum, data=tile, axis=1, negate=True)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        weights = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=weights, op=nl.exp, data=tile, bias=lowest, reduce_op=nl.add, reduce_res=total
        )
        inverse = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=weights, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, 0:columns], src=result)
    return out
