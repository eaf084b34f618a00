# rewrite: nki_hoist_transpose
# at: turned = nl.copy(nisa.nc_transpose(q))
# refuses: q is written in the loop
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((4, 128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    q = nl.load(y[0:128, 0:128])
    for i in nl.affine_range(4):
        tile = nl.load(x[i, 0:128, 0:512])
        turned = nl.copy(nisa.nc_transpose(q))
        nl.store(out[i], nisa.nc_matmul(turned, tile))
        q[0:128, 0:128] = nl.load(y[nl.ds(i * 128, 128), 0:128])
    return out
