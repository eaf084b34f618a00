"""RMS normalization of rows for neuronxcc.nki: squares are summed while they are computed."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def rmsnorm(x, weight):
    """x / sqrt(mean(x * x) + 1e-6) * weight of x (rows, columns), weight (columns,).

    rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    gain = nl.load(weight.reshape((1, columns))).broadcast_to((128, columns))
    small = nl.full((128, 1), 1e-6, dtype=nl.float32)
    for r in nl.affine_range(rows // 128):
        tile = nl.load(x[nl.ds(r * 128, 128), 0:columns])
        total = nl.ndarray((128, 1), dtype=nl.float32)
        nisa.activation_reduce(nl.square, tile, reduce_op=nl.add, reduce_res=total)
        scale = nisa.activation(nl.rsqrt, total, scale=1.0 / columns, bias=small)
        result = nisa.scalar_tensor_tensor(
            data=tile, op0=nl.multiply, operand0=scale, op1=nl.multiply, operand1=gain
        )
        nl.store(out[nl.ds(r * 128, 128), 0:columns], result)
    return out
