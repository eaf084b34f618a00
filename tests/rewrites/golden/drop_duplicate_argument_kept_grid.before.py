# rewrite: drop_duplicate_argument
# at: BLOCK=512
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (128, 256) for w in (4, 8)],
    key=["n"],
)
@triton.jit
def fill_kernel(x_ptr, n, value, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + cols, value, mask=cols < n)


def run(x):
    n = x.numel()
    fill_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](
        x, n, BLOCK=512, value=1.0, num_warps=4
    )
