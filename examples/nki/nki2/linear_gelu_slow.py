"""GELU of a linear layer: 16 columns of x at a time, transposed for each block."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def linear_gelu(x, w, b):
    """gelu(x @ w + b) of x (M, K), w (K, N), b (N,); M and K in 128s, N in 512s."""
    rows, depth = x.shape
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 512):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.memset(dst=total, value=0.0)
            for k in nl.affine_range(depth // 16):
                left = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=x[m * 128 : m * 128 + 128, k * 16 : k * 16 + 16])
                flipped = nl.ndarray((16, 128), dtype=x.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=flipped, data=left)
                turned = nl.ndarray((16, 128), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=turned, src=flipped)
                right = nl.ndarray((16, 512), dtype=w.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=right, src=w[k * 16 : k * 16 + 16, n * 512 : n * 512 + 512])
                product = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=product, stationary=turned, moving=right)
                nisa.tensor_tensor(dst=total, data1=total, data2=product, op=nl.add)
            row = nl.ndarray((1, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=row, src=b.reshape((1, columns))[0:1, n * 512 : n * 512 + 512])
            bias = nl.broadcast_to(row, (128, 512))
            shifted = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=shifted, data1=total, data2=bias, op=nl.add)
            result = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
            nisa.activation(dst=result, op=nl.gelu, data=shifted)
            nisa.dma_copy(dst=out[m * 128 : m * 128 + 128, n * 512 : n * 512 + 512], src=result)
    return out
