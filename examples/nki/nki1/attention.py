"""Attention of one head for neuronxcc.nki: keys are transposed once."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def attention(q, k, v):
    """softmax(q @ k.T / sqrt(128)) @ v of q, k, v (length, 128); length in 128s."""
    length, size = q.shape
    assert size == 128
    tiles = length // 128
    out = nl.ndarray((length, size), dtype=q.dtype, buffer=nl.shared_hbm)
    keys = nl.ndarray((nl.par_dim(size), length), dtype=k.dtype)
    values = nl.ndarray((tiles, nl.par_dim(128), size), dtype=v.dtype)
    for t in nl.affine_range(tiles):
        part = nl.load(k[nl.ds(t * 128, 128), 0:size])
        keys[0:size, nl.ds(t * 128, 128)] = nl.copy(nisa.nc_transpose(part))
        values[t] = nl.load(v[nl.ds(t * 128, 128), 0:size])
    for i in nl.affine_range(tiles):
        query = nl.copy(nisa.nc_transpose(nl.load(q[nl.ds(i * 128, 128), 0:size])))
        scores = nl.ndarray((nl.par_dim(128), length), dtype=nl.float32)
        for first in range(0, length, 512):
            part = nl.ds(first, min(512, length - first))
            scores[0:128, part] = nl.copy(nisa.nc_matmul(query, keys[0:size, part]))
        highest = nisa.tensor_reduce(nl.max, scores, axis=1)
        shift = nisa.tensor_scalar(highest, nl.multiply, -(size**-0.5))
        total = nl.ndarray((128, 1), dtype=nl.float32)
        weights = nisa.activation_reduce(
            nl.exp, scores, scale=size**-0.5, bias=shift, reduce_op=nl.add, reduce_res=total
        )
        result = nl.zeros((128, size), dtype=nl.float32, buffer=nl.psum)
        for t in nl.affine_range(tiles):
            turned = nl.copy(nisa.nc_transpose(weights[0:128, nl.ds(t * 128, 128)]))
            result += nisa.nc_matmul(turned, values[t])
        normal = nisa.tensor_scalar(result, nl.multiply, nisa.reciprocal(total))
        nl.store(out[nl.ds(i * 128, 128), 0:size], normal)
    return out
