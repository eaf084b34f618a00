"""GELU of a linear layer for neuronxcc.nki: each tile of x is transposed once."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def linear_gelu(x, w, b):
    """gelu(x @ w + b) of x (M, K), w (K, N), b (N,); M and K in 128s, N in 512s."""
    rows, depth = x.shape
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    bias = nl.load(b.reshape((1, columns))).broadcast_to((128, columns))
    weights = nl.ndarray((depth // 128, nl.par_dim(128), columns), dtype=w.dtype)
    for k in nl.affine_range(depth // 128):
        weights[k] = nl.load(w[nl.ds(k * 128, 128), 0:columns])
    for m in nl.affine_range(rows // 128):
        row = nl.load(x[nl.ds(m * 128, 128), 0:depth])
        turned = nl.ndarray((depth // 128, nl.par_dim(128), 128), dtype=x.dtype)
        for k in nl.affine_range(depth // 128):
            turned[k] = nl.copy(nisa.nc_transpose(row[0:128, nl.ds(k * 128, 128)]))
        for n in nl.affine_range(columns // 512):
            total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                total += nisa.nc_matmul(turned[k], weights[k, 0:128, nl.ds(n * 512, 512)])
            shifted = nisa.tensor_tensor(total, bias[0:128, nl.ds(n * 512, 512)], nl.add)
            result = nisa.activation(nl.gelu, shifted)
            nl.store(out[nl.ds(m * 128, 128), nl.ds(n * 512, 512)], result)
    return out
