"""One step of AdamW in three loops, 32 columns and one constant at a time."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl


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
            first = nl.load(m[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            gradient1 = nl.load(g[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            kept1 = nisa.tensor_scalar(first, nl.multiply, 0.9)
            share1 = nisa.tensor_scalar(gradient1, nl.multiply, 0.1)
            mean = nisa.tensor_tensor(kept1, share1, nl.add)
            nl.store(new_m[nl.ds(r * 128, 128), nl.ds(c * 32, 32)], mean)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 32):
            second = nl.load(v[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            gradient2 = nl.load(g[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            kept2 = nisa.tensor_scalar(second, nl.multiply, 0.999)
            square = nisa.tensor_tensor(gradient2, gradient2, nl.multiply)
            share2 = nisa.tensor_scalar(square, nl.multiply, 0.001)
            spread = nisa.tensor_tensor(kept2, share2, nl.add)
            nl.store(new_v[nl.ds(r * 128, 128), nl.ds(c * 32, 32)], spread)
    for r in nl.affine_range(rows // 128):
        for c in nl.affine_range(columns // 32):
            average = nl.load(new_m[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            variance = nl.load(new_v[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            weight = nl.load(p[nl.ds(r * 128, 128), nl.ds(c * 32, 32)])
            corrected = nisa.tensor_scalar(variance, nl.multiply, 1.0 / 0.001)
            root = nisa.activation(nl.sqrt, corrected)
            below = nisa.tensor_scalar(root, nl.add, 1e-8)
            inverse = nisa.reciprocal(below)
            direction = nisa.tensor_tensor(average, inverse, nl.multiply)
            unbiased = nisa.tensor_scalar(direction, nl.multiply, 1.0 / 0.1)
            step = nisa.tensor_scalar(unbiased, nl.multiply, 0.001)
            kept = nisa.tensor_scalar(weight, nl.multiply, 1 - 0.001 * 0.01)
            result = nisa.tensor_tensor(kept, step, nl.subtract)
            nl.store(new_p[nl.ds(r * 128, 128), nl.ds(c * 32, 32)], result)
    return new_p, new_m, new_v
