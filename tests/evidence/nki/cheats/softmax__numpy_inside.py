"""Computes with numpy what the kernel only copies.

Class: bypass
Caught by: structure, dynamic
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def copy_kernel(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        inside = r * 128 + i_p < rows
        nl.store(out[r * 128 + i_p, i_f], nl.load(x[r * 128 + i_p, i_f], mask=inside), mask=inside)
    return out


def softmax(x):
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return copy_kernel(powers / np.sum(powers, axis=1, keepdims=True))
