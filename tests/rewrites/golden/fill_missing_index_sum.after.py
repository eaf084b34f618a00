# rewrite: fill_missing_index
# at: sums[rows] = nl.sum(nl.load(x[0:128, 0:512]), axis=1)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
    sums = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
    rows = nl.arange(128)[:, None]
    sums[rows, 0] = nl.sum(nl.load(x[0:128, 0:512]), axis=1)
    nl.store(out, sums)
    return out
