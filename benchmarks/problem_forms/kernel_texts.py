"""Kernels that the modules of ``kernelbench_modules.py`` launch, with what is to be filled in."""

# ruff: noqa: E501
GEMM = """
@triton.jit
def gemm_kernel(a, b, bias, c, M, N, K, sam, sak, sbk, sbn, P0, P1,
                BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BIAS: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        ta = tl.load(a + m[:, None] * sam + k[None, :] * sak,
                     mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        tb = tl.load(b + k[:, None] * sbk + n[None, :] * sbn,
                     mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(ta, tb, acc, input_precision="ieee")
    if BIAS:
        acc += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    y = acc
    {act}
    tl.store(c + m[:, None] * N + n[None, :], y, mask=(m[:, None] < M) & (n[None, :] < N))


def linear(x, weight, bias, p0=0.0, p1=0.0):
    x = x.contiguous()
    M, K = x.shape
    N = weight.shape[0]
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    gemm_kernel[grid](x, weight, bias, y, M, N, K, x.stride(0), x.stride(1), weight.stride(1),
                      weight.stride(0), p0, p1, BM=32, BN=32, BK=32, BIAS=True)
    return y
"""

MATMUL = """

def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    gemm_kernel[grid](a, b, a, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1),
                      0.0, 0.0, BM=32, BN=32, BK=32, BIAS=False)
    return c
"""

UNARY = """
@triton.jit
def unary_kernel(x_ptr, y_ptr, n, P0, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    {act}
    tl.store(y_ptr + at, y, mask=at < n)


def unary(x, p0=0.0):
    x = x.contiguous()
    y = torch.empty_like(x)
    unary_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), p0, BLOCK=1024)
    return y
"""

ROWS = """
@triton.jit
def rows_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, P0, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    mask = at < N
    x = tl.load(x_ptr + row * N + at, mask=mask, other={other})
    {act}
    tl.store(y_ptr + row * N + at, y, mask=mask)


def rows(x, weight=None, bias=None, p0=0.0):
    x = x.contiguous()
    N = x.shape[-1] if weight is None else weight.numel()
    y = torch.empty_like(x)
    none = x if weight is None else weight
    rows_kernel[(x.numel() // N,)](x, none, none if bias is None else bias, y, N, p0,
                                   BLOCK=triton.next_power_of_2(N))
    return y
"""

LONG_ROWS = '''
@triton.jit
def long_rows_kernel(x_ptr, w_ptr, b_ptr, y_ptr, N, EPS, BLOCK: tl.constexpr):
    """A row in pieces: mean, then spread, then the result."""
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
    mean = tl.sum(total, 0) / N
    spread = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        apart = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0) - mean
        spread += tl.where(at < N, apart * apart, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(spread, 0) / N + EPS)
    for start in range(0, N, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * N + at, mask=at < N, other=0.0)
        w, b = tl.load(w_ptr + at, mask=at < N), tl.load(b_ptr + at, mask=at < N)
        tl.store(y_ptr + row * N + at, (x - mean) * scale * w + b, mask=at < N)


def layer_norm(x, weight, bias, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    N = weight.numel()
    long_rows_kernel[(x.numel() // N,)](x, weight, bias, y, N, eps, BLOCK=1024)
    return y
'''

INSTANCES = """
@triton.jit
def instances_kernel(x_ptr, y_ptr, S, EPS, BLOCK: tl.constexpr):
    base = tl.program_id(0).to(tl.int64) * S
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, S, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + base + at, mask=at < S, other=0.0)
    mean = tl.sum(total, 0) / S
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, S, BLOCK):
        at = start + tl.arange(0, BLOCK)
        apart = tl.load(x_ptr + base + at, mask=at < S, other=0.0) - mean
        squares += tl.where(at < S, apart * apart, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(squares, 0) / S + EPS)
    for start in range(0, S, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + at, mask=at < S)
        tl.store(y_ptr + base + at, (x - mean) * scale, mask=at < S)


def instance_norm(x, eps):
    x = x.contiguous()
    y = torch.empty_like(x)
    S = x.shape[2] * x.shape[3]
    instances_kernel[(x.shape[0] * x.shape[1],)](x, y, S, eps, BLOCK=1024)
    return y
"""

COLUMNS = '''
@triton.jit
def columns_kernel(x_ptr, y_ptr, R, C, P0, BR: tl.constexpr, BC: tl.constexpr):
    """Along the middle of (outer, R, C)."""
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    base = tl.program_id(0).to(tl.int64) * R * C
    total = tl.zeros((BC,), dtype=tl.float32)
    for r0 in range(0, R, BR):
        r = r0 + tl.arange(0, BR)
        mask = (r[:, None] < R) & (c[None, :] < C)
        x = tl.load(x_ptr + base + r[:, None] * C + c[None, :], mask=mask, other=0.0)
        total += tl.sum({term}, 0)
    {finish}
'''

NORMALIZE = """
    for r0 in range(0, R, BR):
        r = r0 + tl.arange(0, BR)
        mask = (r[:, None] < R) & (c[None, :] < C)
        x = tl.load(x_ptr + base + r[:, None] * C + c[None, :], mask=mask, other=0.0)
        tl.store(y_ptr + base + r[:, None] * C + c[None, :], x / scale[None, :], mask=mask)
"""

CHANNELS = """
@triton.jit
def channels_kernel(x_ptr, mean_ptr, var_ptr, w_ptr, b_ptr, y_ptr, n, C, S, EPS,
                    BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    c = (at // S) % C
    x = tl.load(x_ptr + at, mask=mask)
    scale = tl.load(w_ptr + c, mask=mask) / tl.sqrt(tl.load(var_ptr + c, mask=mask) + EPS)
    y = (x - tl.load(mean_ptr + c, mask=mask)) * scale + tl.load(b_ptr + c, mask=mask)
    {act}
    tl.store(y_ptr + at, y, mask=mask)


def batch_norm(x, bn):
    x = x.contiguous()
    y = torch.empty_like(x)
    C = x.shape[1]
    S = x.numel() // (x.shape[0] * C)
    channels_kernel[(triton.cdiv(x.numel(), 1024),)](
        x, bn.running_mean, bn.running_var, bn.weight, bn.bias, y, x.numel(), C, S, bn.eps,
        BLOCK=1024)
    return y
"""

CONV = """
@triton.jit
def conv_kernel(x_ptr, w_ptr, b_ptr, y_ptr, CI, H, W, CO, OH, OW, STRIDE, PAD, GROUPED: tl.constexpr,
                KH: tl.constexpr, KW: tl.constexpr, BIAS: tl.constexpr, BLOCK: tl.constexpr):
    image, co = tl.program_id(0) // CO, tl.program_id(0) % CO
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    oh, ow = at // OW, at % OW
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    channels = 1 if GROUPED else CI
    for ci in range(channels):
        source = co if GROUPED else ci
        for kh in range(KH):
            for kw in range(KW):
                ih, iw = oh * STRIDE - PAD + kh, ow * STRIDE - PAD + kw
                inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < W) & (at < OH * OW)
                x = tl.load(x_ptr + ((image * CI + source) * H + ih) * W + iw, mask=inside, other=0.0)
                acc += x * tl.load(w_ptr + ((co * channels + ci) * KH + kh) * KW + kw)
    if BIAS:
        acc += tl.load(b_ptr + co)
    y = acc
    {act}
    tl.store(y_ptr + (image * CO + co) * OH * OW + at, y, mask=at < OH * OW)


def conv(x, layer):
    x = x.contiguous()
    B, CI, H, W = x.shape
    CO, _, KH, KW = layer.weight.shape
    stride, pad = layer.stride[0], layer.padding[0]
    OH, OW = (H + 2 * pad - KH) // stride + 1, (W + 2 * pad - KW) // stride + 1
    y = torch.empty((B, CO, OH, OW), device=x.device, dtype=x.dtype)
    bias = layer.weight if layer.bias is None else layer.bias
    conv_kernel[(B * CO, triton.cdiv(OH * OW, 256))](
        x, layer.weight, bias, y, CI, H, W, CO, OH, OW, stride, pad, GROUPED=layer.groups > 1,
        KH=KH, KW=KW, BIAS=layer.bias is not None, BLOCK=256)
    return y
"""

ATTENTION = """
@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, y_ptr, T, D, SCALE, CAUSAL: tl.constexpr,
                     BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    base = tl.program_id(1).to(tl.int64) * T * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + base + m[:, None] * D + d[None, :],
                mask=(m[:, None] < T) & (d[None, :] < D), other=0.0)
    top = tl.full((BM,), -1.0e30, dtype=tl.float32)
    total = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, BD), dtype=tl.float32)
    for n0 in range(0, T, BN):
        n = n0 + tl.arange(0, BN)
        inside = (n[:, None] < T) & (d[None, :] < D)
        k = tl.load(k_ptr + base + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * SCALE
        seen = n[None, :] < T
        if CAUSAL:
            seen = seen & (n[None, :] <= m[:, None])
        s = tl.where(seen, s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        keep = tl.exp(top - new)
        total = total * keep + tl.sum(p, 1)
        v = tl.load(v_ptr + base + n[:, None] * D + d[None, :], mask=inside, other=0.0)
        acc = acc * keep[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new
    tl.store(y_ptr + base + m[:, None] * D + d[None, :], acc / total[:, None],
             mask=(m[:, None] < T) & (d[None, :] < D))


def attention(q, k, v, causal):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    T, D = q.shape[-2:]
    y = torch.empty_like(q)
    grid = (triton.cdiv(T, 32), q.numel() // (T * D))
    attention_kernel[grid](q, k, v, y, T, D, D ** -0.5, CAUSAL=causal, BM=32, BN=32,
                           BD=max(16, triton.next_power_of_2(D)))
    return y
"""

POOL = """
@triton.jit
def pool_kernel(x_ptr, y_ptr, L, OL, K, STRIDE, PAD, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(K):
        i = at * STRIDE - PAD + k
        acc += tl.load(x_ptr + row * L + i, mask=(i >= 0) & (i < L) & (at < OL), other=0.0)
    tl.store(y_ptr + row * OL + at, acc / K, mask=at < OL)
"""

LOSS = """
@triton.jit
def loss_kernel(x_ptr, t_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * N + at, mask=at < N, other=-float("inf"))
    top = tl.max(x, 0)
    target = tl.load(x_ptr + row * N + tl.load(t_ptr + row))
    tl.store(y_ptr + row, tl.log(tl.sum(tl.exp(x - top), 0)) + top - target)
"""

BMM = """
@triton.jit
def bmm_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    one = tl.program_id(2).to(tl.int64)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k0 in range(0, K, BK):
        k = k0 + tl.arange(0, BK)
        ta = tl.load(a + one * M * K + m[:, None] * K + k[None, :],
                     mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        tb = tl.load(b + one * K * N + k[:, None] * N + n[None, :],
                     mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(ta, tb, acc, input_precision="ieee")
    tl.store(c + one * M * N + m[:, None] * N + n[None, :], acc,
             mask=(m[:, None] < M) & (n[None, :] < N))
"""

SCALE_ROWS = """
@triton.jit
def scale_rows_kernel(a_ptr, b_ptr, y_ptr, M, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    b = tl.load(b_ptr + row * M + at, mask=at < M)
    tl.store(y_ptr + row * M + at, tl.load(a_ptr + row) * b, mask=at < M)
"""

GROUPS = """
@triton.jit
def groups_kernel(x_ptr, extra_ptr, w_ptr, b_ptr, y_ptr, C, PER, EPS, BLOCK: tl.constexpr):
    row, group = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = tl.arange(0, BLOCK)
    mask = at < PER
    c = group * PER + at
    x = tl.load(x_ptr + row * C + c, mask=mask, other=0.0)
    {pre}
    mean = tl.sum(tl.where(mask, x, 0.0), 0) / PER
    apart = tl.where(mask, x - mean, 0.0)
    y = apart / tl.sqrt(tl.sum(apart * apart, 0) / PER + EPS)
    y = y * tl.load(w_ptr + c, mask=mask) + tl.load(b_ptr + c, mask=mask)
    tl.store(y_ptr + row * C + c, y, mask=mask)


def group_norm(x, norm, extra):
    y = torch.empty_like(x)
    C = x.shape[1]
    per = C // norm.num_groups
    groups_kernel[(x.shape[0], norm.num_groups)](
        x, extra, norm.weight, norm.bias, y, C, per, norm.eps, BLOCK=triton.next_power_of_2(per))
    return y
"""

RELU = "y = tl.maximum({0}, 0.0, propagate_nan=tl.PropagateNan.ALL)"
SOFTMAX = "e = tl.exp(x - tl.max(x, 0)); y = e / tl.sum(e, 0)"
GELU = "y = 0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476))"
SIGMOID = "(1.0 / (1.0 + tl.exp(-y)))"
TANH = "y = 2.0 / (1.0 + tl.exp(-2.0 * y)) - 1.0"
# As torch does: the identity above 20.
MISH = (
    "s = tl.where(y > 20.0, y, tl.log(1.0 + tl.exp(tl.minimum(y, 20.0)))); "
    "y = y * (2.0 / (1.0 + tl.exp(-2.0 * s)) - 1.0)"
)
