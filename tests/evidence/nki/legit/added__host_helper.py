"""The grid in a function of the host."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def add_kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.ds(nl.program_id(0) * 128, 128)
    left = nl.load(x[rows, 0 : x.shape[1]])
    right = nl.load(y[rows, 0 : x.shape[1]])
    nl.store(out[rows, 0 : x.shape[1]], nisa.tensor_tensor(left, right, nl.add))
    return out


def _tiles(rows):
    return rows // 128


def added(x, y):
    return add_kernel[_tiles(x.shape[0])](x, y)
