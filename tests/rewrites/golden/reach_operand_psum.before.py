# rewrite: reach_operand
# at: product = nisa.nc_matmul(scores, right)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.load(x[0:128, 0:128])
    right = nl.load(y[0:128, 0:512])
    scores = nisa.nc_matmul(left, left)
    product = nisa.nc_matmul(scores, right)
    nl.store(out, product)
    return out
