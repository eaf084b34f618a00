"""Triton kernels in KernelBench's form: a file with ``ModelNew`` for each of its modules named here.

    python benchmarks/problem_forms/kernelbench_modules.py FOLDER [KERNELBENCH]

writes them to FOLDER, under the names of KernelBench's own files; beside each, with KERNELBENCH, its
reference as ``NAME_reference.py``. Each is a plain kernel that a person would begin with; weights and
buffers are those of the same layers as in the reference.
"""

import shutil
import sys
from pathlib import Path

# ruff: noqa: E501
HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl

"""

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
LINEAR = "self.{0} = nn.Linear(in_features, out_features)"


def model(signature: str, build: str, forward: str, arguments: str = "x") -> str:
    """A ModelNew."""
    lines = [f"        {line}" for line in ["super().__init__()", *filter(None, build.split("\n"))]]
    body = [f"        {line}" for line in forward.split("\n")]
    made = f"    def __init__(self{', ' if signature else ''}{signature}):"
    called = f"    def forward(self, {arguments}):"
    return "\n".join(["\n\nclass ModelNew(nn.Module):", made, *lines, "", called, *body, ""])


def gemm(act: str) -> str:
    return GEMM.replace("{act}", act)


def fused(name: str, act: str, signature: str, build: str, call: str) -> str:
    """A linear layer with what follows it in the same kernel."""
    signature = f"in_features, out_features{signature}"
    return gemm(act) + model(signature, f"{LINEAR.format(name)}\n{build}", call)


def network(sizes: str) -> str:
    build = (
        "layers, width = [], input_size\n"
        f"for size in {sizes}:\n"
        "    layers += [nn.Linear(width, size), nn.ReLU()]\n"
        "    width = size\n"
        "self.network = nn.Sequential(*layers, nn.Linear(width, output_size))"
    )
    call = (
        "linears = [one for one in self.network if isinstance(one, nn.Linear)]\n"
        "for one in linears[:-1]:\n"
        "    x = linear(x, one.weight, one.bias, 0.0)\n"
        "return linear(x, linears[-1].weight, linears[-1].bias, -float('inf'))"
    )
    # What is below P0 is cut off: zero for a ReLU, nothing for the last layer.
    act = "y = tl.where(y != y, y, tl.maximum(y, P0))"
    return gemm(act) + model(f"input_size, {sizes}, output_size", build, call)


SUM_STORE = "tl.store(y_ptr + tl.program_id(0) * C + c, total, mask=c < C)"
COLUMN_CALL = (
    "x = x.contiguous()\nouter, R = x.shape[0], x.shape[1]\nC = x.numel() // (outer * R)\n"
    "y = torch.empty({shape}, device=x.device, dtype=x.dtype)\n"
    "columns_kernel[(outer, triton.cdiv(C, 64))](x, y, R, C, {p0}, BR=32, BC=64)\nreturn y"
)

MODULES: dict[str, str] = {
    "level1/1_Square_matrix_multiplication_": gemm("")
    + MATMUL + model("", "", "return matmul(A, B)", "A, B"),
    "level1/3_Batched_matrix_multiplication": BMM + model(
        "", "",
        "A, B = A.contiguous(), B.contiguous()\nb, M, K = A.shape\nN = B.shape[2]\n"
        "C = torch.empty((b, M, N), device=A.device, dtype=A.dtype)\n"
        "bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32), b)](A, B, C, M, N, K, BM=32, BN=32, "
        "BK=32)\nreturn C", "A, B"),
    "level1/12_Matmul_with_diagonal_matrices_": SCALE_ROWS + model(
        "", "",
        "N, M = B.shape\nC = torch.empty_like(B)\n"
        "scale_rows_kernel[(N, triton.cdiv(M, 256))](A, B.contiguous(), C, M, BLOCK=256)\nreturn C",
        "A, B"),
    "level1/19_ReLU": UNARY.replace("{act}", RELU.format("x")) + model("", "", "return unary(x)"),
    "level1/20_LeakyReLU": UNARY.replace("{act}", "y = tl.where(x >= 0, x, x * P0)")
    + model("negative_slope=0.01", "self.slope = negative_slope", "return unary(x, self.slope)"),
    "level1/23_Softmax": ROWS.replace("{other}", '-float("inf")').replace("{act}", SOFTMAX)
    + model("", "", "return rows(x)"),
    "level1/26_GELU_": UNARY.replace("{act}", GELU.format("x")) + model("", "", "return unary(x)"),
    "level1/33_BatchNorm": CHANNELS.replace("{act}", "") + model(
        "num_features", "self.bn = nn.BatchNorm2d(num_features)", "return batch_norm(x, self.bn)"),
    "level1/36_RMSNorm_": COLUMNS.replace("{term}", "x * x").replace(
        "{finish}", "scale = tl.sqrt(total / R + P0)" + NORMALIZE)
    + model("num_features, eps=1e-5", "self.eps = eps",
            COLUMN_CALL.format(shape="x.shape", p0="self.eps")),
    "level1/38_L1Norm_": COLUMNS.replace("{term}", "tl.abs(x)").replace(
        "{finish}", "scale = total / R" + NORMALIZE)
    + model("", "", COLUMN_CALL.format(shape="x.shape", p0="0.0")),
    "level1/40_LayerNorm": LONG_ROWS + model(
        "normalized_shape", "self.ln = nn.LayerNorm(normalized_shape)",
        "return layer_norm(x, self.ln.weight, self.ln.bias, self.ln.eps)"),
    "level1/44_Average_Pooling_1D": POOL + model(
        "kernel_size, stride=1, padding=0",
        "self.k, self.stride, self.pad = kernel_size, stride, padding",
        "x = x.contiguous()\nB, C, L = x.shape\nOL = (L + 2 * self.pad - self.k) // self.stride + 1\n"
        "y = torch.empty((B, C, OL), device=x.device, dtype=x.dtype)\n"
        "pool_kernel[(B * C, triton.cdiv(OL, 256))](x, y, L, OL, self.k, self.stride, self.pad, "
        "BLOCK=256)\nreturn y"),
    "level1/47_Sum_reduction_over_a_dimension": COLUMNS.replace("{term}", "x").replace(
        "{finish}", SUM_STORE)
    + model("dim", "assert dim == 1", COLUMN_CALL.format(
        shape="(x.shape[0], 1, *x.shape[2:])", p0="0.0")),
    "level1/82_conv_depthwise_2D_square_input_square_kernel": CONV.replace("{act}", "") + model(
        "in_channels, kernel_size, stride=1, padding=0, bias=False",
        "self.conv2d = nn.Conv2d(in_channels, in_channels, kernel_size, stride=stride, "
        "padding=padding, groups=in_channels, bias=bias)", "return conv(x, self.conv2d)"),
    "level1/87_conv_pointwise_2D": CONV.replace("{act}", "") + model(
        "in_channels, out_channels, bias=False",
        "self.conv1d = nn.Conv2d(in_channels, out_channels, 1, bias=bias)",
        "return conv(x, self.conv1d)"),
    "level1/95_CrossEntropyLoss": LOSS + model(
        "", "",
        "p = predictions.contiguous()\nrows, N = p.shape\n"
        "y = torch.empty((rows,), device=p.device, dtype=p.dtype)\n"
        "loss_kernel[(rows,)](p, targets, y, N, BLOCK=triton.next_power_of_2(N))\nreturn y.mean()",
        "predictions, targets"),
    "level1/97_ScaledDotProductAttention": ATTENTION + model(
        "", "", "return attention(Q, K, V, False)", "Q, K, V"),
    "level2/1_Conv2D_ReLU_BiasAdd": CONV.replace(
        "{act}", RELU.format("y") + " + tl.load(extra_ptr + co)").replace(
        "b_ptr, y_ptr,", "b_ptr, extra_ptr, y_ptr,").replace(
        "def conv(x, layer)", "def conv(x, layer, extra)").replace("bias, y, CI", "bias, extra, y, CI")
    + model("in_channels, out_channels, kernel_size, bias_shape",
            "self.conv = nn.Conv2d(in_channels, out_channels, kernel_size)\n"
            "self.bias = nn.Parameter(torch.randn(bias_shape))",
            "return conv(x, self.conv, self.bias)"),
    "level2/9_Matmul_Subtract_Multiply_ReLU": fused(
        "linear", "y = (y - P0) * P1; " + RELU.format("y"), ", subtract_value, multiply_value",
        "self.minus, self.times = subtract_value, multiply_value",
        "return linear(x, self.linear.weight, self.linear.bias, self.minus, self.times)"),
    "level2/29_Matmul_Mish_Mish": fused(
        "linear", f"{MISH}; {MISH}", "", "",
        "return linear(x, self.linear.weight, self.linear.bias)"),
    "level2/33_Gemm_Scale_BatchNorm": gemm("") + CHANNELS.replace(
        "x = tl.load(x_ptr + at, mask=mask)",
        "x = tl.load(x_ptr + at, mask=mask) * tl.load(s_ptr + c, mask=mask)").replace(
        "(x_ptr, mean_ptr", "(x_ptr, s_ptr, mean_ptr").replace("{act}", "").replace(
        "def batch_norm(x, bn)", "def batch_norm(x, scale, bn)").replace(
        "x, bn.running_mean", "x, scale, bn.running_mean")
    + model("in_features, out_features, scale_shape, eps=1e-5, momentum=0.1",
            LINEAR.format("gemm") + "\nself.scale = nn.Parameter(torch.randn(scale_shape))\n"
            "self.bn = nn.BatchNorm1d(out_features, eps=eps, momentum=momentum)",
            "return batch_norm(linear(x, self.gemm.weight, self.gemm.bias), self.scale, self.bn)"),
    "level2/37_Matmul_Swish_Sum_GroupNorm": gemm(f"y = y * {SIGMOID}") + GROUPS.replace(
        "{pre}", "x += tl.load(extra_ptr + c, mask=mask, other=0.0)")
    + model("in_features, out_features, num_groups, bias_shape",
            LINEAR.format("matmul") + "\nself.bias = nn.Parameter(torch.randn(bias_shape))\n"
            "self.group_norm = nn.GroupNorm(num_groups, out_features)",
            "x = linear(x, self.matmul.weight, self.matmul.bias)\n"
            "return group_norm(x, self.group_norm, self.bias)"),
    "level2/53_Gemm_Scaling_Hardtanh_GELU": fused(
        "gemm", "y = y * P0; y = tl.where(y < -P1, -P1, tl.where(y > P1, P1, y)); "
        + GELU.format("y"), ", scaling_factor, hardtanh_min, hardtanh_max",
        "assert hardtanh_min == -hardtanh_max\n"
        "self.times, self.most = scaling_factor, float(hardtanh_max)",
        "return linear(x, self.gemm.weight, self.gemm.bias, self.times, self.most)"),
    "level2/59_Matmul_Swish_Scaling": fused(
        "matmul", f"y = y * {SIGMOID} * P0", ", scaling_factor", "self.times = scaling_factor",
        "return linear(x, self.matmul.weight, self.matmul.bias, self.times)"),
    "level2/63_Gemm_ReLU_Divide": fused(
        "linear", RELU.format("y") + " / P0", ", divisor", "self.by = divisor",
        "return linear(x, self.linear.weight, self.linear.bias, self.by)"),
    "level2/95_Matmul_Add_Swish_Tanh_GELU_Hardtanh": fused(
        "matmul", f"y = y * {SIGMOID}; {TANH}; {GELU.format('y')}; "
        "y = tl.where(y < -1.0, -1.0, tl.where(y > 1.0, 1.0, y))", ", add_value_shape",
        "self.add_value = nn.Parameter(torch.randn(add_value_shape))",
        "return linear(x, self.matmul.weight, self.matmul.bias + self.add_value)"),
    "level2/97_Matmul_BatchNorm_BiasAdd_Divide_Swish": gemm("") + CHANNELS.replace(
        "{act}", f"y = (y + tl.load(e_ptr)) / DIV; y = y * {SIGMOID}").replace(
        "(x_ptr, mean_ptr", "(x_ptr, e_ptr, DIV, mean_ptr").replace(
        "def batch_norm(x, bn)", "def batch_norm(x, extra, div, bn)").replace(
        "x, bn.running_mean", "x, extra, div, bn.running_mean")
    + model("in_features, out_features, bn_eps=1e-5, bn_momentum=0.1, bias_shape=(1,), "
            "divide_value=1.0",
            LINEAR.format("matmul") + "\nself.bn = nn.BatchNorm1d(out_features, eps=bn_eps, "
            "momentum=bn_momentum)\nself.bias = nn.Parameter(torch.randn(bias_shape))\n"
            "self.div = divide_value",
            "x = linear(x, self.matmul.weight, self.matmul.bias)\n"
            "return batch_norm(x, self.bias, self.div, self.bn)"),
    "level2/99_Matmul_GELU_Softmax": gemm(GELU.format("y")) + ROWS.replace(
        "{other}", '-float("inf")').replace("{act}", SOFTMAX)
    + model("in_features, out_features", LINEAR.format("linear"),
            "return rows(linear(x, self.linear.weight, self.linear.bias))"),
    "level3/1_MLP": network("layer_sizes"),
    "level3/3_DeepNarrowMLP": network("hidden_layer_sizes"),
    "level3/43_MinGPTCausalAttention": gemm("") + ATTENTION + model(
        "n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen",
        "assert attn_pdrop == 0 and resid_pdrop == 0\n"
        "self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)\n"
        "self.register_buffer('bias', torch.tril(torch.ones(max_seqlen, max_seqlen)).view(\n"
        "    1, 1, max_seqlen, max_seqlen))\n"
        "self.n_head = n_head",
        "B, T, C = x.shape\n"
        "qkv = linear(x.reshape(B * T, C), self.c_attn.weight, self.c_attn.bias)\n"
        "heads = qkv.view(B, T, 3, self.n_head, C // self.n_head).permute(2, 0, 3, 1, 4)\n"
        "y = attention(heads[0], heads[1], heads[2], True).transpose(1, 2).reshape(B * T, C)\n"
        "return linear(y, self.c_proj.weight, self.c_proj.bias).view(B, T, C)"),
}  # fmt: skip


def write(folder: Path, kernelbench: Path | None = None) -> list[Path]:
    """The files, in KernelBench's order of levels; beside each its reference, if there is one."""
    written = []
    for name, text in MODULES.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text.replace("\n    \n", "\n"))
        written.append(path)
        reference = kernelbench / f"{name}.py" if kernelbench is not None else None
        if reference is not None and reference.is_file():
            shutil.copy(reference, path.with_name(f"{path.stem}_reference.py"))
    return written


if __name__ == "__main__":
    bench = Path(sys.argv[2]) / "KernelBench" if len(sys.argv) > 2 else None
    print(*write(Path(sys.argv[1]), bench), sep="\n")
