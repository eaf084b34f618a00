"""RMS normalization of rows: the weight is loaded and spread for each tile, the root inverted."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def rmsnorm(x, weight):
    """x / sqrt(mean(x * x) + 1e-6) * weight of x (rows, columns), weight (columns,).

    rows in 128s."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        tile = nl.load(x[nl.ds(r * 128, 128), 0:columns])
        row = nl.load(weight.reshape((1, columns)))
        gain = row.broadcast_to((128, columns))
        squares = nisa.activation(nl.square, tile)
        total = nisa.tensor_reduce(nl.add, squares, axis=1)
        mean = nisa.tensor_scalar(total, nl.multiply, 1.0 / columns)
        shifted = nisa.tensor_scalar(mean, nl.add, 1e-6)
        root = nl.sqrt(shifted)
        scale = nl.reciprocal(root)
        normal = nisa.tensor_tensor(tile, scale.broadcast_to((128, columns)), nl.multiply)
        result = nisa.tensor_tensor(normal, gain, nl.multiply)
        nl.store(out[nl.ds(r * 128, 128), 0:columns], result)
    return out
