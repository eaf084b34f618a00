"""What the originals must compute, in numpy."""

import numpy as np


def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def matmul(lhs_t, rhs):
    return lhs_t.T @ rhs


def gated(x, gate):
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(-x)) * gate


def added(x, y):
    return x + y
