# rewrite: join_masks
# at: 8 <= columns < 100
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    columns = nl.arange(512)[None, :]
    tile = nl.load(x[rows, columns], mask=8 <= columns < 100)
    nl.store(out, tile)
    return out
