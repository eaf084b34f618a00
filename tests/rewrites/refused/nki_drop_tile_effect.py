# rewrite: nki_drop_tile
# at: unused = nisa.activation_reduce(nl.exp, tile, reduce_op=nl.add, reduce_res=total)
# refuses: another effect
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512])
    other = nl.load(y[0:128, 0:512])
    total = nl.ndarray((128, 1), dtype=nl.float32)
    unused = nisa.activation_reduce(nl.exp, tile, reduce_op=nl.add, reduce_res=total)
    nl.store(out, nisa.tensor_scalar(tile, nl.divide, total))
    return out
