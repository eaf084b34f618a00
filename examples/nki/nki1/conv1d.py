"""A depthwise convolution for neuronxcc.nki: a row is loaded once, and a tap is one instruction."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def conv1d(x, w):
    """out[c, t] = sum of w[c, i] x[c, t + i] of x (channels, T), w (channels, taps).

    channels in 128s."""
    channels, length = x.shape
    taps = w.shape[1]
    wide = length - taps + 1
    out = nl.ndarray((channels, wide), dtype=x.dtype, buffer=nl.shared_hbm)
    for c in nl.affine_range(channels // 128):
        tile = nl.load(x[nl.ds(c * 128, 128), 0:length])
        weights = nl.load(w[nl.ds(c * 128, 128), 0:taps])
        total = nl.zeros((128, wide), dtype=nl.float32)
        for i in nl.static_range(taps):
            total[0:128, 0:wide] = nisa.scalar_tensor_tensor(
                data=tile[0:128, i : i + wide],
                op0=nl.multiply,
                operand0=weights[0:128, i : i + 1],
                op1=nl.add,
                operand1=total,
            )
        nl.store(out[nl.ds(c * 128, 128), 0:wide], total)
    return out
