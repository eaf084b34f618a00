"""The kernels of ``advice_sizes.py``: rows reduced and normalized in two forms each, a product
and an attention."""

import triton
import triton.language as tl


@triton.jit
def reduced_in_loop(x, y, out, turns, BLOCK: tl.constexpr, BODY: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * turns * BLOCK
    lanes = tl.arange(0, BLOCK)
    first = 0.0
    second = 0.0
    third = 0.0
    if BODY == 2:
        first = float("-inf")
    for turn in range(turns):
        tile = tl.load(x + row + turn * BLOCK + lanes).to(tl.float32)
        if BODY == 2:
            first = tl.maximum(first, tl.max(tile, 0))
        else:
            first += tl.sum(tile, 0)
        if BODY == 1:
            second += tl.sum(tile * tile, 0)
            third += tl.sum(tl.abs(tile), 0)
        if BODY == 3:
            tl.store(y + row + turn * BLOCK + lanes, tile * 2.0)
    tl.store(out + tl.program_id(0), first + second + third)


@triton.jit
def reduced_once(x, y, out, turns, BLOCK: tl.constexpr, BODY: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * turns * BLOCK
    lanes = tl.arange(0, BLOCK)
    first = tl.zeros([BLOCK], tl.float32)
    second = tl.zeros([BLOCK], tl.float32)
    third = tl.zeros([BLOCK], tl.float32)
    if BODY == 2:
        first += float("-inf")
    for turn in range(turns):
        tile = tl.load(x + row + turn * BLOCK + lanes).to(tl.float32)
        if BODY == 2:
            first = tl.maximum(first, tile)
        else:
            first += tile
        if BODY == 1:
            second += tile * tile
            third += tl.abs(tile)
        if BODY == 3:
            tl.store(y + row + turn * BLOCK + lanes, tile * 2.0)
    total = tl.max(first, 0) if BODY == 2 else tl.sum(first, 0)
    if BODY == 1:
        total += tl.sum(second, 0) + tl.sum(third, 0)
    tl.store(out + tl.program_id(0), total)


@triton.jit
def normalized_in_passes(x, y, n, BLOCK: tl.constexpr, CENTERED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    mean = 0.0
    if CENTERED:
        total = tl.zeros([BLOCK], tl.float32)
        for start in range(0, n, BLOCK):
            cols = start + tl.arange(0, BLOCK)
            total += tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        mean = tl.sum(total, 0) / n
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        tile = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        tile = tl.where(cols < n, tile - mean, 0.0)
        squares += tile * tile
    scale = tl.rsqrt(tl.sum(squares, 0) / n + 1e-6)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        tile = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
        tl.store(y + row + cols, (tile - mean) * scale, mask=cols < n)


@triton.jit
def normalized_at_once(x, y, n, BLOCK: tl.constexpr, CENTERED: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    cols = tl.arange(0, BLOCK)
    tile = tl.load(x + row + cols, mask=cols < n, other=0.0).to(tl.float32)
    if CENTERED:
        tile = tl.where(cols < n, tile - tl.sum(tile, 0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(tile * tile, 0) / n + 1e-6)
    tl.store(y + row + cols, tile * scale, mask=cols < n)


@triton.jit
def product(
    a,
    b,
    c,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_m = tl.cdiv(M, BLOCK_M)
    group = tl.program_id(0) // (GROUP * tiles_n)
    rows = tl.minimum(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + tl.program_id(0) % (GROUP * tiles_n) % rows
    tile_n = tl.program_id(0) % (GROUP * tiles_n) // rows
    m = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a + m[:, None] * K + start + k[None, :], mask=m[:, None] < M, other=0.0)
        right = tl.load(b + (start + k[:, None]) * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(left, right, acc)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def attention(
    q, k, v, out, length, scale, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    base = tl.program_id(1).to(tl.int64) * length * WIDTH
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, WIDTH)
    query = tl.load(q + base + m[:, None] * WIDTH + d[None, :], mask=m[:, None] < length, other=0.0)
    top = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, WIDTH], tl.float32)
    for start in range(0, length, BLOCK_N):
        n = start + tl.arange(0, BLOCK_N)
        inside = n < length
        at = base + n[:, None] * WIDTH + d[None, :]
        key = tl.load(k + at, mask=inside[:, None], other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        scores = tl.where(inside[None, :], scores, float("-inf"))
        above = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - above[:, None])
        shrunk = tl.exp2(top - above)
        total = total * shrunk + tl.sum(weights, 1)
        value = tl.load(v + at, mask=inside[:, None], other=0.0)
        acc = tl.dot(weights.to(tl.float16), value, acc * shrunk[:, None])
        top = above
    acc = acc / total[:, None]
    tl.store(
        out + base + m[:, None] * WIDTH + d[None, :], acc.to(tl.float16), mask=m[:, None] < length
    )
