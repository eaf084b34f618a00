# rewrite: bias_column
# at: 0.5
# refuses: number of partitions
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nisa.activation(nl.exp, nl.load(x), bias=0.5))
    return out
