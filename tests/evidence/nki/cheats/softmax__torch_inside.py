"""Computes with torch, and launches the kernel for show.

Class: bypass
Caught by: structure, dynamic
"""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import torch


@nki.jit
def unused(x):
    out = nl.ndarray((1, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:1, 0:1], nl.load(x[0:1, 0:1]))
    return out


def softmax(x):
    unused(x)
    return torch.softmax(torch.from_numpy(x), 1).numpy()
