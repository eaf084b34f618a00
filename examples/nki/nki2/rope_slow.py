"""Rotary position embedding: 16 columns at a time, loaded for each output that reads them."""

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
        for h in nl.affine_range(heads):
            for b in nl.affine_range(half // 16):
                c = nl.ndarray((128, 16), dtype=cos.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=c, src=cos[t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                s = nl.ndarray((128, 16), dtype=sin.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=s, src=sin[t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                left = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=x[h, t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                right = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=right, src=x[h, t * 128 : t * 128 + 128, half + b * 16 : half + b * 16 + 16]
                )
                along = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=along, data1=left, data2=c, op=nl.multiply)
                across = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=across, data1=right, data2=s, op=nl.multiply)
                first = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=first, data1=along, data2=across, op=nl.subtract)
                nisa.dma_copy(dst=out[h, t * 128 : t * 128 + 128, b * 16 : b * 16 + 16], src=first)
        for h in nl.affine_range(heads):
            for b in nl.affine_range(half // 16):
                c2 = nl.ndarray((128, 16), dtype=cos.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=c2, src=cos[t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                s2 = nl.ndarray((128, 16), dtype=sin.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=s2, src=sin[t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                left2 = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left2, src=x[h, t * 128 : t * 128 + 128, b * 16 : b * 16 + 16])
                right2 = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_copy(
                    dst=right2,
                    src=x[h, t * 128 : t * 128 + 128, half + b * 16 : half + b * 16 + 16],
                )
                back = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=back, data1=right2, data2=c2, op=nl.multiply)
                over = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=over, data1=left2, data2=s2, op=nl.multiply)
                second = nl.ndarray((128, 16), dtype=x.dtype, buffer=nl.sbuf)
                nisa.tensor_tensor(dst=second, data1=back, data2=over, op=nl.add)
                nisa.dma_copy(
                    dst=out[h, t * 128 : t * 128 + 128, half + b * 16 : half + b * 16 + 16],
                    src=second,
                )
    return out
