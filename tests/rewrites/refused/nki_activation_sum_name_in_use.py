# rewrite: nki_activation_sum
# at: total = nisa.tensor_reduce(nl.add, weights, axis=1)
# refuses: total is something else
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    total = nl.load(y[0:128, 0:1])
    weights = nisa.activation(nl.exp, tile, bias=total)
    total = nisa.tensor_reduce(nl.add, weights, axis=1)
    result = nisa.tensor_scalar(weights, nl.divide, total)
    nl.store(out, result)
    return out
