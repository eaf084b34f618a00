"""Attention of one head: keys transposed for each block of queries, 16 values at a time."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def attention(q, k, v):
    """softmax(q @ k.T / sqrt(128)) @ v of q, k, v (length, 128); length in 128s, 512 at most."""
    length, size = q.shape
    assert size == 128
    tiles = length // 128
    out = nl.ndarray((length, size), dtype=q.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(tiles):
        scores = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        for t in nl.affine_range(tiles):
            query = nl.ndarray((128, size), dtype=q.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=query, src=q[i * 128 : i * 128 + 128, 0:size])
            flipped = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=query)
            turned_query = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned_query, src=flipped)
            part = nl.ndarray((128, size), dtype=k.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=part, src=k[t * 128 : t * 128 + 128, 0:size])
            flipped_key = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped_key, data=part)
            turned_key = nl.ndarray((128, 128), dtype=q.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned_key, src=flipped_key)
            product = nl.ndarray((128, 128), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=product, stationary=turned_query, moving=turned_key)
            nisa.tensor_copy(dst=scores[0:128, t * 128 : t * 128 + 128], src=product)
        scaled = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=scaled, data=scores, op0=nl.multiply, operand0=size**-0.5)
        highest = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=highest, op=nl.maximum, data=scaled, axis=1)
        shift = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shift, data=highest, op0=nl.multiply, operand0=-1.0)
        shifted = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=shifted, data=scaled, op0=nl.add, operand0=shift)
        weights = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=weights, op=nl.exp, data=shifted)
        total = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=weights, axis=1)
        inverse = nl.ndarray((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        normal = nl.ndarray((128, length), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normal, data=weights, op0=nl.multiply, operand0=inverse)
        result = nl.ndarray((128, size), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=result, value=0.0)
        for t in nl.affine_range(length // 16):
            flipped = nl.ndarray((16, 128), dtype=q.dtype, buffer=nl.psum)
            nisa.nc_transpose(dst=flipped, data=normal[0:128, t * 16 : t * 16 + 16])
            turned = nl.ndarray((16, 128), dtype=q.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=turned, src=flipped)
            value = nl.ndarray((16, size), dtype=v.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=value, src=v[t * 16 : t * 16 + 16, 0:size])
            weighted = nl.ndarray((128, size), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=weighted, stationary=turned, moving=value)
            nisa.tensor_tensor(dst=result, data1=result, data2=weighted, op=nl.add)
        nisa.dma_copy(dst=out[i * 128 : i * 128 + 128, 0:size], src=result)
    return out
