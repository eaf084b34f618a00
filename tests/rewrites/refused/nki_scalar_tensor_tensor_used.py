# rewrite: nki_scalar_tensor_tensor
# at: result = nisa.tensor_tensor(part, other, nl.add)
# refuses: part is used elsewhere
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    part = nisa.tensor_scalar(tile, nl.multiply, 0.9)
    result = nisa.tensor_tensor(part, other, nl.add)
    nl.store(out, nl.add(result, part))
    return out
