"""Has every program instance store the same rows.

Class: concurrency
Caught by: correctness
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def add_kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ds(nl.program_id(0) * 128, 128)
    left = nl.load(x[rows, 0 : x.shape[1]])
    right = nl.load(y[rows, 0 : x.shape[1]])
    nl.store(out[0:128, 0 : x.shape[1]], nisa.tensor_tensor(left, right, nl.add))
    return out


def added(x, y):
    return add_kernel[x.shape[0] // 128](x, y)
