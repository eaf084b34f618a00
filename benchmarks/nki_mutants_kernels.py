"""NKI kernels in the style of NKIBench: index expressions, masks, tensors of tiles, loop_reduce."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def masked_step(x, y):
    """x - 0.1 * y / (sqrt(|y| + 1) + 0.5) of x, y (rows, 300): the last rows fill no tile."""
    rows = x.shape[0]
    out = nl.ndarray((rows, 300), dtype=x.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((2, nl.par_dim(128), 300), dtype=np.float32, buffer=nl.sbuf)
    right = nl.ndarray((2, nl.par_dim(128), 300), dtype=np.float32, buffer=nl.sbuf)
    root = nl.ndarray((2, nl.par_dim(128), 300), dtype=np.float32, buffer=nl.sbuf)
    ones = nl.ndarray((nl.par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    p, f = nl.arange(128)[:, None], nl.arange(300)[None, :]
    ones[p, 0] = nisa.memset(shape=(128, 1), value=1.0, dtype=np.float32)
    for i in nl.affine_range(2):
        left[i, p, f] = nl.load(x[128 * i + p, f], mask=128 * i + p < rows)
        right[i, p, f] = nl.load(y[128 * i + p, f], mask=128 * i + p < rows)
        size = nl.abs(right[i, p, f], mask=128 * i + p < rows)
        root[i, p, f] = nisa.activation(
            op=nl.sqrt, data=size, bias=ones[p, 0], scale=1.0, mask=128 * i + p < rows
        )
        below = nisa.tensor_scalar(
            data=root[i, p, f], op0=nl.add, operand0=0.5, mask=128 * i + p < rows
        )
        share = nl.divide(right[i, p, f], below, mask=128 * i + p < rows)
        step = nisa.tensor_scalar(
            data=share, op0=nl.multiply, operand0=0.1, mask=128 * i + p < rows
        )
        result = nl.subtract(left[i, p, f], step, mask=128 * i + p < rows)
        nl.store(out[128 * i + p, f], value=result, mask=128 * i + p < rows)
    return out


@nki.jit
def tiled_softmax(x):
    """Softmax of the rows of x (128, 2048), in four tiles of columns."""
    out = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.shared_hbm)
    parts = nl.ndarray((4, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)
    raised = nl.ndarray((4, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)
    highest = nl.ndarray((nl.par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    shift = nl.ndarray((nl.par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    total = nl.ndarray((nl.par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    p, f = nl.arange(128)[:, None], nl.arange(512)[None, :]
    for i in nl.affine_range(4):
        parts[i, p, f] = nl.load(x[p, 512 * i + f])
        top = nisa.tensor_reduce(nl.max, data=parts[i, p, f], axis=[1])
        highest[p, 0] = nl.loop_reduce(top, op=np.max, loop_indices=[i])
    shift[p, 0] = nisa.tensor_scalar(data=highest[p, 0], op0=nl.multiply, operand0=-1.0)
    for j in nl.affine_range(4):
        raised[j, p, f] = nisa.activation(
            op=nl.exp, data=parts[j, p, f], bias=shift[p, 0], scale=1.0
        )
        part = nisa.tensor_reduce(nl.add, data=raised[j, p, f], axis=[1])
        total[p, 0] = nl.loop_reduce(part, op=np.add, loop_indices=[j])
    for q in nl.affine_range(4):
        share = nisa.tensor_scalar(
            data=raised[q, p, f], op0=nl.multiply, operand0=nisa.reciprocal(data=total[p, 0])
        )
        nl.store(out[p, 512 * q + f], value=share)
    return out


@nki.jit
def turned_product(lhs, rhs):
    """lhs @ rhs of (256, 256) and (256, 600): transposes by the identity, a mask on columns."""
    out = nl.ndarray((256, 600), dtype=np.float32, buffer=nl.shared_hbm)
    identity = nl.shared_constant(np.identity(128, dtype=np.float32))
    eye = nl.ndarray((nl.par_dim(128), 128), dtype=np.float32, buffer=nl.sbuf)
    turned = nl.ndarray((2, 2, nl.par_dim(128), 128), dtype=np.float32, buffer=nl.sbuf)
    right = nl.ndarray((2, 2, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.sbuf)
    total = nl.zeros(
        (2, 2, nl.par_dim(128), 512), dtype=np.float32, buffer=nl.psum, lazy_initialization=True
    )
    p, m, n = nl.arange(128)[:, None], nl.arange(128)[None, :], nl.arange(512)[None, :]
    eye[p, m] = nl.load(identity[p, m])
    for i in nl.affine_range(2):
        for k in nl.affine_range(2):
            part = nl.load(lhs[128 * i + p, 128 * k + m])
            turned[i, k, p, m] = nisa.nc_matmul(part, eye[p, m], is_transpose=True)
    for k in nl.affine_range(2):
        for j in nl.affine_range(2):
            right[k, j, p, n] = nl.load(rhs[128 * k + p, 512 * j + n], mask=512 * j + n < 600)
    for i in nl.affine_range(2):
        for j in nl.affine_range(2):
            for k in nl.affine_range(2):
                total[i, j, p, n] += nisa.nc_matmul(
                    turned[i, k, p, m], right[k, j, p, n], mask=512 * j + n < 600
                )
            done = nl.copy(total[i, j, p, n], mask=512 * j + n < 600)
            nl.store(out[128 * i + p, 512 * j + n], value=done, mask=512 * j + n < 600)
    return out


@nki.jit
def running_state(decay, x):
    """state = decay * state + x over the columns of (128, 1024), in tiles that carry the state."""
    out = nl.ndarray((128, 1024), dtype=x.dtype, buffer=nl.shared_hbm)
    state = nl.zeros((nl.par_dim(128), 1), dtype=np.float32, buffer=nl.sbuf)
    for i in nl.sequential_range(4):
        rate = nl.load(decay[0:128, nl.ds(i * 256, 256)])
        part = nl.load(x[0:128, nl.ds(i * 256, 256)])
        scan = nisa.tensor_tensor_scan(rate, part, initial=state, op0=nl.multiply, op1=nl.add)
        state[...] = nl.copy(scan[0:128, 255:256])
        nl.store(out[0:128, nl.ds(i * 256, 256)], scan)
    return out
