"""Returns the gate, which is right where x is large and the gate zero.

Class: contract
Caught by: correctness
"""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def gated(x, gate):
    return gate
