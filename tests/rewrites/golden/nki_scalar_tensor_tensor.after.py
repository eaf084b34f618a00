# rewrite: nki_scalar_tensor_tensor
# at: result = nisa.tensor_tensor(part, other, nl.add)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    result = nisa.scalar_tensor_tensor(
        data=tile, op0=nl.multiply, operand0=0.9, op1=nl.add, operand1=other
    )
    nl.store(out, result)
    return out
