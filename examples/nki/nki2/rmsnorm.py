"""RMS normalization of rows for nki: squares are summed while they are computed."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, weight):
    """x / sqrt(mean(x * x) + 1e-6) * weight of x (rows, columns), weight (columns,).

    rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=weight.reshape((1, columns)))
    gain = nl.broadcast_to(row, (128, columns))
    small = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=small, value=1e-6)
    for r in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + 128, 0:columns])
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        squares = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total
        )
        scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=total, scale=1.0 / columns, bias=small)
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result, data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gain
        )
        nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, 0:columns], src=result)
    return out
