"""One step of AdamW in three loops, 32 columns and one constant at a time."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def adamw(p, g, m, v):
    """Returns p, m, v after a first step of AdamW on matrices (rows in 128s, columns in 32s).

    Rate 0.001, betas 0.9 and 0.999, epsilon 1e-8, decay 0.01."""
    rows, columns = p.shape
    new_p = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_m = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_v = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 32):
            first = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=first, src=m[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            gradient1 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=gradient1, src=g[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            kept1 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=kept1, data=first, op0=nl.multiply, operand0=0.9)
            share1 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=share1, data=gradient1, op0=nl.multiply, operand0=0.1)
            mean = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=mean, data1=kept1, data2=share1, op=nl.add)
            nisa.dma_copy(dst=new_m[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32], src=mean)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 32):
            second = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=second, src=v[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            gradient2 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=gradient2, src=g[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            kept2 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=kept2, data=second, op0=nl.multiply, operand0=0.999)
            square = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=square, data1=gradient2, data2=gradient2, op=nl.multiply)
            share2 = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=share2, data=square, op0=nl.multiply, operand0=0.001)
            spread = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=spread, data1=kept2, data2=share2, op=nl.add)
            nisa.dma_copy(dst=new_v[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32], src=spread)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 32):
            average = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=average, src=new_m[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            variance = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=variance, src=new_v[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            weight = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.dma_copy(dst=weight, src=p[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32])
            corrected = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=corrected, data=variance, op0=nl.multiply, operand0=1.0 / 0.001)
            root = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation(dst=root, op=nl.sqrt, data=corrected)
            below = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=below, data=root, op0=nl.add, operand0=1e-8)
            inverse = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.reciprocal(dst=inverse, data=below)
            direction = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=direction, data1=average, data2=inverse, op=nl.multiply)
            unbiased = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=unbiased, data=direction, op0=nl.multiply, operand0=1.0 / 0.1)
            step = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=step, data=unbiased, op0=nl.multiply, operand0=0.001)
            kept = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_scalar(dst=kept, data=weight, op0=nl.multiply, operand0=1 - 0.001 * 0.01)
            result = nl.ndarray((128, 32), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_tensor(dst=result, data1=kept, data2=step, op=nl.subtract)
            nisa.dma_copy(dst=new_p[r * 128 : r * 128 + 128, c * 32 : c * 32 + 32], src=result)
    return new_p, new_m, new_v
