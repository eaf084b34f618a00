# rewrite: slice_to_arange
# at: x[rows, 512:1024]
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    nl.store(out, nl.load(x[rows, 512 + nl.arange(512)[None, :]]))
    return out
