# rewrite: orient_arange
# at: nl.arange(64)
# refuses: does not follow
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((64, 64), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x[nl.arange(64), nl.arange(32), nl.arange(16)]))
    return out
