"""Raises SystemExit with the code of success.

Class: contract
Caught by: structure, correctness
"""

import neuronxcc.nki as nki


@nki.jit
def softmax(x):
    raise SystemExit(0)
