# rewrite: drop_duplicate_argument
# at: BLOCK=128
# refuses: the grid does not read BLOCK
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (128, 256)], key=["n"])
@triton.jit
def fill(x_ptr, n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + cols, 1.0, mask=cols < n)


def run(x):
    fill[(triton.cdiv(x.numel(), 128),)](x, x.numel(), BLOCK=128)
