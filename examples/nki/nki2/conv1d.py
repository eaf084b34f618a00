"""A depthwise convolution for nki: a row is loaded once, and a tap is one instruction."""

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
        tile = nl.ndarray((128, length), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[c * 128 : c * 128 + 128, 0:length])
        weights = nl.ndarray((128, taps), dtype=w.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=weights, src=w[c * 128 : c * 128 + 128, 0:taps])
        total = nl.ndarray((128, wide), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(dst=total, value=0.0)
        for i in nl.static_range(taps):
            nisa.scalar_tensor_tensor(
                dst=total,
                data=tile[0:128, i : i + wide],
                op0=nl.multiply,
                operand0=weights[0:128, i : i + 1],
                op1=nl.add,
                operand1=total,
            )
        nisa.dma_copy(dst=out[c * 128 : c * 128 + 128, 0:wide], src=total)
    return out
