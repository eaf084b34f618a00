# rewrite: bound_index
# at: out[rows, i * 512 + columns]
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 4000), dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.arange(128)[:, None]
    columns = nl.arange(512)[None, :]
    for i in nl.affine_range(8):
        tile = nl.load(x[i, 0:128, 0:512])
        nl.store(out[rows, i * 512 + columns], tile, mask=i * 512 + columns < 4000)
    return out
