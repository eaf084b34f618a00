# rewrite: nki_reuse_load
# at: again = nl.load(x[0:128, 0:512])
# refuses: no tile with a name
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nisa.tensor_reduce(nl.add, nl.load(x[0:128, 0:512]), axis=1)
    again = nl.load(x[0:128, 0:512])
    nl.store(out, nisa.tensor_scalar(again, nl.divide, total))
    return out
