"""Maximum and sum of each row over blocks of columns, rescaled as they grow."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    ip = nl.arange(128)[:, None]
    jf = nl.arange(32)[None, :]
    for r in nl.affine_range((rows + 127) // 128):
        best = nl.full((128, 1), -3.0e38, dtype=nl.float32, buffer=nl.sbuf)
        total = nl.zeros((128, 1), dtype=nl.float32, buffer=nl.sbuf)
        for c in nl.sequential_range((columns + 31) // 32):
            m = (r * 128 + ip < rows) & (c * 32 + jf < columns)
            mr = r * 128 + ip < rows
            t = nl.load(x[r * 128 + ip, c * 32 + jf], mask=m)
            new = nl.maximum(best, nl.max(t, axis=1, keepdims=True, mask=m), mask=mr)
            e = nl.exp(nl.subtract(t, new, mask=m), mask=m)
            s = nl.sum(e, axis=1, keepdims=True, mask=m)
            old = nl.exp(nl.subtract(best, new, mask=mr), mask=mr)
            total[...] = nl.add(nl.multiply(total, old, mask=mr), s, mask=mr)
            best[...] = nl.copy(new, mask=mr)
        for c in nl.affine_range((columns + 31) // 32):
            m = (r * 128 + ip < rows) & (c * 32 + jf < columns)
            t = nl.load(x[r * 128 + ip, c * 32 + jf], mask=m)
            e = nl.exp(nl.subtract(t, best, mask=m), mask=m)
            nl.store(out[r * 128 + ip, c * 32 + jf], nl.divide(e, total, mask=m), mask=m)
    return out
