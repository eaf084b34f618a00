"""Softmax over rows: each step an instruction of its own, and the row loaded twice."""

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
        highest = nisa.tensor_reduce(nl.max, tile, axis=1)
        again = nl.load(x[nl.ds(r * 128, 128), 0:columns])
        shifted = nisa.tensor_tensor(again, highest.broadcast_to((128, columns)), nl.subtract)
        weights = nisa.activation(nl.exp, shifted)
        total = nisa.tensor_reduce(nl.add, weights, axis=1)
        result = nl.divide(weights, total)
        nl.store(out[nl.ds(r * 128, 128), 0:columns], result)
    return out
