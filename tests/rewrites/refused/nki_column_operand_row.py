# rewrite: nki_column_operand
# at: result = nisa.tensor_tensor(tile, c.broadcast_to((128, 512)), nl.subtract)
# refuses: neither operand is a column
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    c = nl.load(y[0:1, 0:512])
    result = nisa.tensor_tensor(tile, c.broadcast_to((128, 512)), nl.subtract)
    nl.store(out, result)
    return out
