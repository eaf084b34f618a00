"""A gated unit, silu(x) * gate, for nki."""

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
        tile = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[r * 128 : r * 128 + size, 0:columns])
        other = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=other, src=gate[r * 128 : r * 128 + size, 0:columns])
        smooth = nl.ndarray((size, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=smooth, op=nl.silu, data=tile)
        result = nl.ndarray((size, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=smooth, data2=other, op=nl.multiply)
        nisa.dma_copy(dst=out[r * 128 : r * 128 + size, 0:columns], src=result)
    return out
