"""RMS normalization of rows: the weight is loaded and spread for each tile, the root inverted."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rmsnorm(x, weight):
    """x / sqrt(mean(x * x) + 1e-6) * weight of x (rows, columns), weight (columns,).

    rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        tile = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + 128, 0:columns])
        row = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=row, src=weight.reshape((1, columns)))
        gain = nl.broadcast_to(row, (128, columns))
        squares = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=squares, op=nl.square, data=tile)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1)
        mean = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=mean, data=total, op0=nl.multiply, operand0=1.0 / columns)
        shifted = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shifted, data=mean, op0=nl.add, operand0=1e-6)
        root = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=root, op=nl.sqrt, data=shifted)
        scale = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=scale, data=root)
        normal = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(
            dst=normal, data1=tile, data2=nl.broadcast_to(scale, (128, columns)), op=nl.multiply
        )
        result = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=normal, data2=gain, op=nl.multiply)
        nisa.dma_copy(dst=out[r * 128 : r * 128 + 128, 0:columns], src=result)
    return out
