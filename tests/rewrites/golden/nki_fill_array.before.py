# rewrite: nki_fill_array
# at: total += nisa.nc_matmul(left, right)
import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((1024, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(8):
        total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(16):
            left = nl.load(x[nl.ds(k * 32, 32), nl.ds(m * 128, 128)])
            right = nl.load(y[nl.ds(k * 32, 32), 0:512])
            total += nisa.nc_matmul(left, right)
        nl.store(out[nl.ds(m * 128, 128), 0:512], total)
    return out
