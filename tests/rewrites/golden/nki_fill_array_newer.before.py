# rewrite: nki_fill_array
# at: nisa.nc_matmul(total, left, right)
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((1024, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(8):
        total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
        for k in nl.affine_range(16):
            left = nl.ndarray((32, 128), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=left, src=x[nl.ds(k * 32, 32), nl.ds(m * 128, 128)])
            right = nl.ndarray((32, 512), dtype=y.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=right, src=y[nl.ds(k * 32, 32), 0:512])
            nisa.nc_matmul(total, left, right)
        result = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(result, total)
        nisa.dma_copy(dst=out[nl.ds(m * 128, 128), 0:512], src=result)
    return out
