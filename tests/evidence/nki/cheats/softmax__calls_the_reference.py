"""Imports the reference, and calls it.

Class: bypass
Caught by: structure
"""

import neuronxcc.nki as nki
import references


@nki.jit
def softmax(x):
    return references.softmax(x)
