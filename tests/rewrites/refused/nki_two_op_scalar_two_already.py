# rewrite: nki_two_op_scalar
# at: result = nisa.tensor_scalar(part, nl.add, 1.0)
# refuses: not made by a tensor_scalar with one
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    part = nisa.tensor_scalar(tile, nl.multiply, 2.0, op1=nl.add, operand1=3.0)
    result = nisa.tensor_scalar(part, nl.add, 1.0)
    nl.store(out, result)
    return out
