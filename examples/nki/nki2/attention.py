"""Attention of one head for nki: keys are transposed once."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def attention(q, k, v):
    """softmax(q @ k.T / sqrt(128)) @ v of q, k, v (length, 128); length in 128s."""
    length, size = q.shape
    assert size == 128
    tiles = length // 128
    out = nl.ndarray((length, size), dtype=q.dtype, buffer=nl.shared_hbm)
    keys = nl.ndarray((size, length), dtype=k.dtype, buffer=nl.sbuf)
    values = nl.ndarray((128, tiles, size), dtype=v.dtype, buffer=nl.sbuf)
    for t in nl.affine_range(tiles):
        part = nl.ndarray((128, size), dtype=k.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=part, src=k[t * 128 : t * 128 + 128, 0:size])
        flipped = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=flipped, data=part)
        nisa.tensor_copy(dst=keys[0:size, t * 128 : t * 128 + 128], src=flipped)
        nisa.dma_copy(dst=values[0:128, t, 0:size], src=v[t * 128 : t * 128 + 128, 0:size])
    for i in nl.affine_range(tiles):
        query = nl.ndarray((128, size), dtype=q.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=query, src=q[i * 128 : i * 128 + 128, 0:size])
        flipped = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.psum)
        nisa.nc_transpose(dst=flipped, data=query)
        turned_query = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=turned_query, src=flipped)
        scores = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        for first in range(0, length, 512):
            last = min(first + 512, length)
            products = nl.ndarray((128, last - first), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=products, stationary=turned_query, moving=keys[0:size, first:last])
            nisa.tensor_copy(dst=scores[0:128, first:last], src=products)
        highest = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=highest, op=nl.maximum, data=scores, axis=1)
        shift = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shift, data=highest, op0=nl.multiply, operand0=-(size**-0.5))
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        weights = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(
            dst=weights,
            op=nl.exp,
            data=scores,
            scale=size**-0.5,
            bias=shift,
            reduce_op=nl.add,
            reduce_res=total,
        )
        result = nl.ndarray((128, size), dtype=nl.float32, buffer=nl.psum)
        for t in nl.affine_range(tiles):
            flipped = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=weights[0:128, t * 128 : t * 128 + 128])
            turned = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=flipped)
            nisa.nc_matmul(dst=result, stationary=turned, moving=values[0:128, t, 0:size])
        inverse = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        normal = nl.ndarray((128, size), dtype=q.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=result, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, 0:size], src=normal)
    return out
