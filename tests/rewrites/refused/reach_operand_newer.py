# rewrite: reach_operand
# at: nisa.activation(dst=tile, op=nl.exp, data=x)
# refuses: a tensor of its own
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.activation(dst=tile, op=nl.exp, data=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
