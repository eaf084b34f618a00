# rewrite: nki_activation_operand
# at: nisa.activation(result, nl.exp, part)
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x, y):
    out = nl.ndarray((128, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[0:128, 0:512])
    other = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=other, src=y[0:128, 0:512])
    part = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=part, data=tile, op0=nl.multiply, operand0=0.125)
    nisa.activation(result, nl.exp, part)
    nisa.dma_copy(dst=out, src=result)
    return out
