"""Softmax over rows: each step an instruction of its own, and the row loaded twice."""

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
        highest = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=highest, op=nl.maximum, data=tile, axis=1)
        shift = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shift, data=highest, op0=nl.multiply, operand0=-1.0)
        again = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=again, src=x[r * 128 : r * 128 + 128, 0:columns])
        shifted = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shifted, data=again, op0=nl.add, operand0=shift)
        weights = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=weights, op=nl.exp, data=shifted)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
        inverse = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=weights, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, 0:columns], src=result)
    return out
