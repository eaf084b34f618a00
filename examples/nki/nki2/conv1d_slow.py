"""A depthwise convolution that loads the row and one weight again for each tap."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def conv1d(x, w):
    """out[c, t] = sum of w[c, i] x[c, t + i] of x (channels, T), w (channels, taps).

    channels in 128s."""
    channels, length = x.shape
    taps = w.shape[1]
    wide = length - taps + 1
    out = nl.ndarray((channels, wide), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(channels // 128):
        total = nl.ndarray((128, wide), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for i in nl.static_range(taps):
            tile = nl.ndarray((128, length), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[c * 128 : c * 128 + 128, 0:length])
            weight = nl.ndarray((128, 1), dtype=w.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=weight, src=w[c * 128 : c * 128 + 128, i : i + 1])
            product = nl.ndarray((128, wide), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(
                dst=product,
                data1=tile[0:128, i : i + wide],
                data2=nl.broadcast_to(weight, (128, wide)),
                op=nl.multiply,
            )
            nisa.tensor_tensor(dst=total, data1=total, data2=product, op=nl.add)
        nisa.dma_copy(dst=out[c * 128 : c * 128 + 128, 0:wide], src=total)
    return out
