"""Attention of one head: keys transposed for each block of queries, 16 values at a time."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def attention(q, k, v):
    """softmax(q @ k.T / sqrt(128)) @ v of q, k, v (length, 128); length in 128s, 512 at most."""
    length, size = q.shape
    assert size == 128
    tiles = length // 128
    out = nl.ndarray((length, size), dtype=q.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(tiles):
        scores = nl.ndarray((nl.par_dim(128), length), dtype=nl.float32)
        for t in nl.affine_range(tiles):
            query = nl.load(q[nl.ds(i * 128, 128), 0:size])
            turned_query = nl.copy(nisa.nc_transpose(query))
            part = nl.load(k[nl.ds(t * 128, 128), 0:size])
            turned_key = nl.copy(nisa.nc_transpose(part))
            scores[0:128, nl.ds(t * 128, 128)] = nl.copy(nisa.nc_matmul(turned_query, turned_key))
        scaled = nisa.tensor_scalar(scores, nl.multiply, size**-0.5)
        highest = nisa.tensor_reduce(nl.max, scaled, axis=1)
        shifted = nisa.tensor_tensor(scaled, highest.broadcast_to((128, length)), nl.subtract)
        weights = nisa.activation(nl.exp, shifted)
        total = nisa.tensor_reduce(nl.add, weights, axis=1)
        normal = nl.divide(weights, total)
        result = nl.zeros((128, size), dtype=nl.float32, buffer=nl.sbuf)
        for t in nl.affine_range(length // 16):
            turned = nl.copy(nisa.nc_transpose(normal[0:128, nl.ds(t * 16, 16)]))
            value = nl.load(v[nl.ds(t * 16, 16), 0:size])
            result += nisa.nc_matmul(turned, value)
        nl.store(out[nl.ds(i * 128, 128), 0:size], result)
    return out
