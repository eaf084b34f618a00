"""GELU of a linear layer for nki: each tile of x is transposed once."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def linear_gelu(x, w, b):
    """gelu(x @ w + b) of x (M, K), w (K, N), b (N,); M and K in 128s, N in 512s."""
    rows, depth = x.shape
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.ndarray((1, columns), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=row, src=b.reshape((1, columns)))
    bias = nl.broadcast_to(row, (128, columns))
    weights = nl.ndarray((128, depth // 128, columns), dtype=w.dtype, buffer=nl.sbuf)
    for k in nl.affine_range(depth // 128):
        nisa.dma_copy(dst=weights[0:128, k, 0:columns], src=w[k * 128 : k * 128 + 128, 0:columns])
    for m in nl.affine_range(rows // 128):
        rows_of_x = nl.ndarray((128, depth), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows_of_x, src=x[m * 128 : m * 128 + 128, 0:depth])
        turned = nl.ndarray((128, depth // 128, 128), dtype=x.dtype, buffer=nl.sbuf)
        for k in nl.affine_range(depth // 128):
            flipped = nl.ndarray((128, 128), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=rows_of_x[0:128, k * 128 : k * 128 + 128])
            nisa.tensor_copy(dst=turned[0:128, k, 0:128], src=flipped)
        for n in nl.affine_range(columns // 512):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                right = weights[0:128, k, n * 512 : n * 512 + 512]
                nisa.nc_matmul(dst=total, stationary=turned[0:128, k, 0:128], moving=right)
            shifted = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(
                dst=shifted, data1=total, data2=bias[0:128, n * 512 : n * 512 + 512], op=nl.add
            )
            result = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.sbuf)
            nisa.activation(dst=result, op=nl.gelu, data=shifted)
            nisa.dma_copy(dst=out[m * 128 : m * 128 + 128, n * 512 : n * 512 + 512], src=result)
    return out
