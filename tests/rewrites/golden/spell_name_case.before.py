# rewrite: spell_name
# at: nl.Float32
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.zeros((128, 512), dtype=nl.Float32)
    nl.store(out, nl.add(tile, nl.load(x[0:128, 0:512])))
    return out
