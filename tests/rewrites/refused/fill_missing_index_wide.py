# rewrite: fill_missing_index
# at: sums[rows] = nl.load(x[0:128, 0:512])
# refuses: more than one element
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray((nl.par_dim(128), 512), dtype=nl.float32, buffer=nl.sbuf)
    rows = nl.arange(128)[:, None]
    sums[rows] = nl.load(x[0:128, 0:512])
    nl.store(out, sums)
    return out
