# rewrite: nki_activation_operand
# at: result = nisa.activation(nl.exp, part)
# refuses: has to be float32
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    c = nl.load(y[0:128, 0:1], dtype=nl.bfloat16)
    part = nisa.tensor_scalar(tile, nl.multiply, c)
    result = nisa.activation(nl.exp, part)
    nl.store(out, result)
    return out
