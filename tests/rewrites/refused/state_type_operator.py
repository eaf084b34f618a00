# rewrite: state_type
# at: tile * 0.5
# refuses: no place for a type
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512], dtype=nl.bfloat16)
    half = tile * 0.5
    nl.store(out, nl.exp(half))
    return out
