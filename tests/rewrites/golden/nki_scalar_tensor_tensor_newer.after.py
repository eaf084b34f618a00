# rewrite: nki_scalar_tensor_tensor
# at: nisa.tensor_tensor(result, part, other, nl.add)
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
    result = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        result, data=tile, op0=nl.multiply, operand0=0.9, op1=nl.add, operand1=other
    )
    nisa.dma_copy(dst=out, src=result)
    return out
