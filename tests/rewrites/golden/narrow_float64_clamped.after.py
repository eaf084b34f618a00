# rewrite: narrow_float64
# at: dtype=tl.float64
# facts: x_ptr=*fp32 y_ptr=*fp32 n=1000
import triton
import triton.language as tl


@triton.jit
def spread(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    """Variance of a row, in tl.float64 for safety (this text stays)."""
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    ones = tl.full((BLOCK,), 1.0, dtype=tl.float32)
    x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32) * ones
    mean = tl.sum(x, axis=0) / n
    var = tl.maximum(tl.sum(x * x, axis=0) / n - mean**2, 0.0)  # biased
    tl.store(y_ptr, var)
