"""One step of AdamW for nki: constants ride on instructions that run anyway."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def adamw(p, g, m, v):
    """Returns p, m, v after a first step of AdamW on matrices (rows, columns); rows in 128s.

    Rate 0.001, betas 0.9 and 0.999, epsilon 1e-8, decay 0.01."""
    rows, columns = p.shape
    new_p = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_m = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_v = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        gradient = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=gradient, src=g[r * 128 : r * 128 + 128, 0:columns])
        first = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=first, src=m[r * 128 : r * 128 + 128, 0:columns])
        second = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=second, src=v[r * 128 : r * 128 + 128, 0:columns])
        weight = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=weight, src=p[r * 128 : r * 128 + 128, 0:columns])
        share = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=share, data=gradient, op0=nl.multiply, operand0=0.1)
        mean = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=mean, data=first, op0=nl.multiply, operand0=0.9, op1=nl.add, operand1=share
        )
        square = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=square, op=nl.square, data=gradient, scale=0.001**0.5)
        spread = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=spread, data=second, op0=nl.multiply, operand0=0.999, op1=nl.add, operand1=square
        )
        root = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=root, op=nl.sqrt, data=spread, scale=1.0 / 0.001)
        below = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=below, data=root, op0=nl.add, operand0=1e-8)
        inverse = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=below)
        step = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=step,
            data=mean,
            op0=nl.multiply,
            operand0=-0.001 / 0.1,
            op1=nl.multiply,
            operand1=inverse,
        )
        result = nl.ndarray((128, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(
            dst=result,
            data=weight,
            op0=nl.multiply,
            operand0=1 - 0.001 * 0.01,
            op1=nl.add,
            operand1=step,
        )
        nisa.dma_copy(dst=new_p[r * 128 : r * 128 + 128, 0:columns], src=result)
        nisa.dma_copy(dst=new_m[r * 128 : r * 128 + 128, 0:columns], src=mean)
        nisa.dma_copy(dst=new_v[r * 128 : r * 128 + 128, 0:columns], src=spread)
    return new_p, new_m, new_v
