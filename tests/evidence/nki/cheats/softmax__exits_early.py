"""Prints a verdict of its own, and ends the process.

Class: contract
Caught by: structure, correctness
"""

import os

import neuronxcc.nki as nki


@nki.jit
def softmax(x):
    print("Test passed")
    os._exit(0)
