# rewrite: correct_annotation
# at: nt.tensor[128, 256]
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import neuronxcc.nki.typing as nt


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile: nt.tensor[128, 512] = nl.load(x[0:128, 0:512])
    nl.store(out, tile)
    return out
