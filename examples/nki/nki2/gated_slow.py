"""A gated unit, silu(x) * gate: 32 columns at a time, and the sigmoid put together by hand."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gated(x, gate):
    """silu(x) * gate of two matrices (rows, columns); rows need not fill the last tile."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range((rows + 127) // 128):
        size = min(128, rows - r * 128)
        for c in nl.affine_range(columns // 32):
            tile = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + size, c * 32 : c * 32 + 32])
            other = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=other, src=gate[r * 128 : r * 128 + size, c * 32 : c * 32 + 32])
            e = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=e, op=nl.exp, data=tile, scale=-1.0)
            below = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=below, data=e, op0=nl.add, operand0=1.0)
            sigmoid = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.reciprocal(dst=sigmoid, data=below)
            smooth = nl.ndarray((size, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=smooth, data1=tile, data2=sigmoid, op=nl.multiply)
            result = nl.ndarray((size, 32), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=result, data1=smooth, data2=other, op=nl.multiply)
            nisa.dma_copy(dst=out[r * 128 : r * 128 + size, c * 32 : c * 32 + 32], src=result)
    return out
