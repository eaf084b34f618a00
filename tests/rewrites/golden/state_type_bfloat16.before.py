# rewrite: state_type
# at: nl.multiply(tile, 0.5)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=nl.bfloat16, buffer=nl.shared_hbm)
    tile = nl.load(x[0:128, 0:512], dtype=nl.bfloat16)
    half = nl.multiply(tile, 0.5)
    nl.store(out, nl.exp(half))
    return out
