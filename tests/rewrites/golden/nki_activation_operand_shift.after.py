# rewrite: nki_activation_operand
# at: result = nisa.activation(nl.exp, part)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    top = nisa.tensor_reduce(nl.max, tile, axis=1)
    result = nisa.activation(nl.exp, tile, bias=nisa.tensor_scalar(top, nl.multiply, -1.0))
    nl.store(out, result)
    return out
