"""GELU of a linear layer: 16 columns of x at a time, transposed for each block."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def linear_gelu(x, w, b):
    """gelu(x @ w + b) of x (M, K), w (K, N), b (N,); M and K in 128s, N in 512s."""
    rows, depth = x.shape
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(rows // 128):
        for n in nl.affine_range(columns // 512):
            total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.sbuf)
            for k in nl.affine_range(depth // 16):
                left = nl.load(x[nl.ds(m * 128, 128), nl.ds(k * 16, 16)])
                turned = nl.copy(nisa.nc_transpose(left))
                right = nl.load(w[nl.ds(k * 16, 16), nl.ds(n * 512, 512)])
                total += nisa.nc_matmul(turned, right)
            row = nl.load(b.reshape((1, columns))[0:1, nl.ds(n * 512, 512)])
            bias = row.broadcast_to((128, 512))
            shifted = nisa.tensor_tensor(total, bias, nl.add)
            result = nisa.activation(nl.gelu, shifted)
            nl.store(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out
