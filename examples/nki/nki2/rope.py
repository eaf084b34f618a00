"""Rotary position embedding for nki: whole rows, each tensor loaded once."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    """Rotates the halves of the rows of x (heads, length, 2 D) by cos, sin (length, D).

    length in 128s."""
    heads, length, size = x.shape
    half = size // 2
    out = nl.ndarray((heads, length, size), dtype=x.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(length // 128):
        c = nl.ndarray((128, half), dtype=cos.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=c, src=cos[t * 128 : t * 128 + 128, 0:half])
        s = nl.ndarray((128, half), dtype=sin.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=s, src=sin[t * 128 : t * 128 + 128, 0:half])
        for h in nl.affine_range(heads):
            tile = nl.ndarray((128, size), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[h, t * 128 : t * 128 + 128, 0:size])
            result = nl.ndarray((128, size), dtype=x.dtype, buffer=nl.sbuf)
            left, right = tile[0:128, 0:half], tile[0:128, half:size]
            along = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=along, data1=left, data2=c, op=nl.multiply)
            across = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=across, data1=right, data2=s, op=nl.multiply)
            nisa.tensor_tensor(dst=result[0:128, 0:half], data1=along, data2=across, op=nl.subtract)
            back = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=back, data1=right, data2=c, op=nl.multiply)
            over = nl.ndarray((128, half), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=over, data1=left, data2=s, op=nl.multiply)
            nisa.tensor_tensor(dst=result[0:128, half:size], data1=back, data2=over, op=nl.add)
            nisa.dma_copy(dst=out[h, t * 128 : t * 128 + 128, 0:size], src=result)
    return out
