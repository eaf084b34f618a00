# rewrite: drop_foreign_option
# at: "grf_mode": "256"
# target: cuda:90
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 128, "grf_mode": "256"}, num_warps=4),
        triton.Config({"waves_per_eu": 2, "BLOCK": 256}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def fill_kernel(x_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + cols, 0.0, mask=cols < n)


def run(x):
    n = x.numel()
    fill_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, n, kpack=2)
