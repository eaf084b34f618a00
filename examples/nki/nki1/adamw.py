"""One step of AdamW for neuronxcc.nki: constants ride on instructions that run anyway."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


@nki.jit
def adamw(p, g, m, v):
    """Returns p, m, v after a first step of AdamW on matrices (rows, columns); rows in 128s.

    Rate 0.001, betas 0.9 and 0.999, epsilon 1e-8, decay 0.01."""
    rows, columns = p.shape
    new_p = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_m = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    new_v = nl.ndarray((rows, columns), dtype=p.dtype, buffer=nl.shared_hbm)
    for r in nl.affine_range(rows // 128):
        gradient = nl.load(g[nl.ds(r * 128, 128), 0:columns])
        first = nl.load(m[nl.ds(r * 128, 128), 0:columns])
        second = nl.load(v[nl.ds(r * 128, 128), 0:columns])
        weight = nl.load(p[nl.ds(r * 128, 128), 0:columns])
        share = nisa.tensor_scalar(gradient, nl.multiply, 0.1)
        mean = nisa.scalar_tensor_tensor(
            data=first, op0=nl.multiply, operand0=0.9, op1=nl.add, operand1=share
        )
        square = nisa.activation(nl.square, gradient, scale=0.001**0.5)
        spread = nisa.scalar_tensor_tensor(
            data=second, op0=nl.multiply, operand0=0.999, op1=nl.add, operand1=square
        )
        root = nisa.activation(nl.sqrt, spread, scale=1.0 / 0.001)
        below = nisa.tensor_scalar(root, nl.add, 1e-8)
        inverse = nisa.reciprocal(below)
        step = nisa.scalar_tensor_tensor(
            data=mean, op0=nl.multiply, operand0=-0.001 / 0.1, op1=nl.multiply, operand1=inverse
        )
        result = nisa.scalar_tensor_tensor(
            data=weight, op0=nl.multiply, operand0=1 - 0.001 * 0.01, op1=nl.add, operand1=step
        )
        nl.store(new_p[nl.ds(r * 128, 128), 0:columns], result)
        nl.store(new_m[nl.ds(r * 128, 128), 0:columns], mean)
        nl.store(new_v[nl.ds(r * 128, 128), 0:columns], spread)
    return new_p, new_m, new_v
