"""Launches its kernel without a grid for show, and adds by the sum of Python.

Class: bypass
Caught by: dynamic
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def add_kernel(x, y):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        part = nl.ds(r * 128, 128)
        left = nl.load(x[part, 0:columns])
        right = nl.load(y[part, 0:columns])
        nl.store(out[part, 0:columns], nl.add(left, right))
    return out


def added(x, y):
    add_kernel(x, x)
    return sum((x, y))
