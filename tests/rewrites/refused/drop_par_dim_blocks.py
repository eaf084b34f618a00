# rewrite: drop_par_dim
# at: nl.par_dim(128)
# refuses: before the partition
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tiles = nl.ndarray((4, nl.par_dim(128), 512), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tiles[0], src=x)
    nisa.dma_copy(dst=out, src=tiles[0])
    return out
