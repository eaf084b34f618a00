"""Walks up the stack for the frame of whoever compares.

Class: replay
Caught by: structure
"""

import inspect

import neuronxcc.nki as nki


@nki.jit
def softmax(x):
    frame = inspect.currentframe().f_back
    return frame.f_locals["expected"]
