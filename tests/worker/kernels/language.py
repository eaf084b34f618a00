"""Forms of the language that Triton's interpreter gets wrong or does not know by itself."""

import torch
import triton
import triton.language as T
from triton import jit
from triton.language import arange, constexpr, load, store
from triton.language.extra.cuda import libdevice

Size = constexpr


@jit
def spelled(x, o, N: T.constexpr, M: Size, K: "T.constexpr"):
    i = arange(0, N)
    a = b = load(x + i) * M
    store(o + i, a + b - K)


def make(scale):
    factor = T.constexpr(scale)

    @triton.jit
    def closed(x, o, n: T.int64, N: triton.language.constexpr):
        for k in range(0, 2):
            i = T.arange(0, N) + k.to(T.int64) * N
            big = n * n
            T.store(o + i, T.load(x + i) * factor + (big > 0).to(T.float32))

    return closed


@triton.jit
def product(a, b, o, N: T.constexpr):
    i = T.arange(0, N)
    at = i[:, None] * N + i[None, :]
    T.store(o + at, T.dot(T.load(a + at), T.load(b + at)))


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def last(a, b):
    return T.where(b != 0, b, a)


@triton.jit
def combined(x, o, M: T.constexpr, N: T.constexpr):
    rows = T.arange(0, M)
    tile = T.load(x + rows[:, None] * N + T.arange(0, N)[None, :])
    T.store(o + rows, T.reduce(tile, -1, times))
    T.store(o + M + rows, T.sum(tile.sigmoid(), -1))
    flat = T.reshape(tile, (M * N,))
    T.store(o + 2 * M + T.arange(0, M * N), T.associative_scan(flat, 0, last))


@triton.jit
def converted(x, o, N: T.constexpr):
    i = T.arange(0, N)
    v = T.load(x + i)
    T.store(o + i, v.to(T.float8e5).to(T.float32))
    T.store(o + N + i, v.to(T.bfloat16).to(T.float32))
    T.store(o + 2 * N + i, libdevice.erfc(v))
    T.store(o + 3 * N + i, (v.to(T.bfloat16) * 3).to(T.float32))


@triton.jit
def exchanged(x, o, h, N: T.constexpr):
    i = T.arange(0, N)
    T.atomic_xchg(o + i, T.load(x + i))
    T.atomic_add(h + i, T.load(x + i).to(T.bfloat16))


@triton.jit
def blocks(x, o, m, n, M: T.constexpr, N: T.constexpr):
    source = T.make_block_ptr(x, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    target = T.make_block_ptr(o, (m, n), (n, 1), (0, 0), (M, N), (1, 0))
    for _ in range(0, n, N):
        tile = T.load(source, boundary_check=(0, 1), padding_option="zero")
        T.store(target, tile.to(o.dtype.element_ty) * 2, boundary_check=(0, 1))
        source, target = T.advance(source, (0, N)), T.advance(target, (0, N))


def everything(x):
    """Each of them once on 4 rows of 16."""
    flat, found = x.reshape(-1), {}

    def out(count, dtype=torch.float32, value=0):
        return torch.full((count,), value, dtype=dtype, device=x.device)

    found["spelled"] = out(16)
    spelled[(1,)](flat, found["spelled"], 16, 2, 1)
    found["closed"] = out(32)
    make(3.0)[(1,)](flat, found["closed"], 100_000, 16)
    square = x.reshape(-1)[:16].repeat(16).reshape(16, 16).to(torch.bfloat16).contiguous()
    found["product"] = out(256)
    product[(1,)](square, square, found["product"], 16)
    found["combined"] = out(72)
    combined[(1,)](flat, found["combined"], 4, 16)
    found["converted"] = out(256)
    converted[(1,)](flat, found["converted"], 64)
    found["exchanged"], found["added"] = out(64), out(64, torch.bfloat16, 1)
    exchanged[(1,)](flat, found["exchanged"], found["added"], 64)
    found["blocks"] = out(60)
    blocks[(1,)](flat, found["blocks"], 5, 12, 8, 8)
    return found


@triton.jit
def assembled(x, o, N: T.constexpr):
    i = T.arange(0, N)
    doubled = T.inline_asm_elementwise(
        "add.f32 $0, $1, $1;", "=f,f", [T.load(x + i)], dtype=T.float32, is_pure=True, pack=1
    )
    T.store(o + i, doubled)


def assembly(x):
    """What the interpreter has no means to run."""
    o = torch.empty_like(x)
    assembled[(1,)](x, o, x.numel())
    return o
