"""Eight real kernels, each with six sites that can be changed and six launch settings.

A site is a rewrite of the engine or an edit written here: of a kernel as it stands in the
repository, or of its good version from ``benchmarks/replies``. Every set of sites gives a text.
One that does not fit a text that others have changed gives none there.
"""

import re
from functools import partial

from kernel_sites import ROOT, Launches, RealKernel, Setting, Site, edit_site, exactly, rewrite_site

__all__ = ["KERNELS", "ROOT", "RealKernel", "Setting"]


def _tiles(m: int, n: int, k: int, warps: int, stages: int) -> Setting:
    values = {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}
    return Setting(values, {"num_warps": warps, "num_stages": stages})


def _attention_tiles(m: int, n: int, warps: int, stages: int) -> Setting:
    return Setting({"BLOCK_M": m, "BLOCK_N": n}, {"num_warps": warps, "num_stages": stages})


OWN = Setting({}, {})
_WARPS = (OWN, *(Setting({}, {"num_warps": warps}) for warps in (1, 2, 8, 16, 32)))
_PRODUCT = (
    OWN,
    _tiles(64, 64, 32, 4, 3),
    _tiles(128, 64, 64, 4, 4),
    _tiles(128, 128, 64, 8, 3),
    _tiles(128, 256, 64, 8, 3),
    _tiles(128, 128, 32, 4, 4),
)
_DOT = r"(\w+) \+= tl\.dot\((.+)\)\n"
_IN_DOT = edit_site("accumulate in the dot", "memory_access", (_DOT, r"\1 = tl.dot(\2, \1)\n"))
_FLAT_LOOP = r"for k in range\("
_UNROLLED = (r"(for k in) range\((.*)\):", r"\1 tl.range(\2, loop_unroll_factor=2):")
_UNROLL = edit_site("unroll the loop", "algorithmic", _UNROLLED)

_MATMUL = RealKernel(
    "matmul",
    "examples/matmul.py",
    "matmul_kernel",
    (
        rewrite_site("drop_dot_upcasts", "dtype_fix", "dtype_precision"),
        rewrite_site("group_programs", "persistent_kernel", "no_swizzling"),
        _IN_DOT,
        edit_site(
            "wrap rows",
            "memory_access",
            (r"\+ offs_m\[:, None\] \* stride_am", "+ (offs_m % M)[:, None] * stride_am"),
            (r"\+ offs_n\[None, :\] \* stride_bn", "+ (offs_n % N)[None, :] * stride_bn"),
            (r"\(offs_m\[:, None\] < M\) & (\(offs_k\[None, :\] < k_left\))", r"\1"),
            (r"(\(offs_k\[:, None\] < k_left\)) & \(offs_n\[None, :\] < N\)", r"\1"),
        ),
        _UNROLL,
        edit_site(
            "compute addresses anew",
            "memory_access",
            (r"tl\.load\(a_ptrs,", "tl.load(a_ptrs + k * BLOCK_K * stride_ak,"),
            (r"tl\.load\(b_ptrs,", "tl.load(b_ptrs + k * BLOCK_K * stride_bk,"),
            (r" *a_ptrs \+= .*\n", ""),
            (r" *b_ptrs \+= .*\n", ""),
        ),
    ),
    _PRODUCT,
    shapes=(
        {"M": 4096, "N": 4096, "K": 4096},
        {"M": 512, "N": 512, "K": 4096},
        {"M": 128, "N": 8192, "K": 2048},
        {"M": 8192, "N": 8192, "K": 256},
    ),
    fast=(0b001111, 0b001011, 0b000011, 0b011111),
    tiled=0b001111,
)

_LINEAR_GELU = RealKernel(
    "linear_gelu",
    "examples/linear_gelu.py",
    "linear_gelu_kernel",
    (
        rewrite_site("stable_tanh", "correctness", "unstable_tanh"),
        rewrite_site("group_programs", "persistent_kernel", "no_swizzling"),
        _IN_DOT,
        edit_site(
            "wrap rows",
            "memory_access",
            (r"\+ offs_m\[:, None\] \* stride_xm", "+ (offs_m % M)[:, None] * stride_xm"),
            (r"\+ offs_n\[None, :\] \* stride_wn", "+ (offs_n % N)[None, :] * stride_wn"),
            (r"\(offs_m\[:, None\] < M\) & (\(offs_k\[None, :\] < K\))", r"\1"),
            (r"(\(offs_k\[:, None\] < K\)) & \(offs_n\[None, :\] < N\)", r"\1"),
        ),
        _UNROLL,
        edit_site(
            "load the bias first",
            "memory_access",
            (r"    bias = tl\.load\(.*\n", ""),
            (
                r"    acc = tl\.zeros\(.*\n",
                r"    bias = tl.load(b_ptr + offs_n, mask=offs_n < N, other=0.0)"
                r".to(tl.float32)\n\g<0>",
            ),
        ),
    ),
    _PRODUCT,
    blind=True,
    fast=(0b001111, 0b001011, 0b000011),
)

_INT8_GEMM = RealKernel(
    "int8_gemm",
    "benchmarks/modules/int8_gemm.py",
    "int8_gemm_kernel",
    (
        edit_site(
            "rows first",
            "persistent_kernel",
            (exactly("tl.program_id(0) * BLOCK_M"), "tl.program_id(1) * BLOCK_M"),
            (exactly("tl.program_id(1) * BLOCK_N"), "tl.program_id(0) * BLOCK_N"),
            (
                exactly("(triton.cdiv(M, 32), triton.cdiv(N, 32))"),
                "(triton.cdiv(N, 32), triton.cdiv(M, 32))",
            ),
        ),
        edit_site(
            "load weights by rows",
            "memory_access",
            (
                exactly("w_ptr + cols[None, :] * K + deep[:, None]"),
                "w_ptr + cols[:, None] * K + deep[None, :]",
            ),
            (
                exactly("mask=(cols[None, :] < N) & (deep[:, None] < K), other=0,"),
                "mask=(cols[:, None] < N) & (deep[None, :] < K), other=0,",
            ),
            (exactly("w.to(x.dtype)"), "tl.trans(w).to(x.dtype)"),
        ),
        _IN_DOT,
        edit_site(
            "wrap rows",
            "memory_access",
            (exactly("x_ptr + rows[:, None] * K"), "x_ptr + (rows % M)[:, None] * K"),
            (r"w_ptr \+ cols(\[.*?\]) \* K", r"w_ptr + (cols % N)\1 * K"),
            (r"\(rows\[:, None\] < M\) & (\(deep\[None, :\] < K\))", r"\1"),
            (r"\(cols\[.*?\] < N\) & (\(deep\[.*?\] < K\), other=0,)", r"\1"),
        ),
        _UNROLL,
        edit_site(
            "widen both operands",
            "dtype_fix",
            (r"tl\.dot\(x, (.*)\.to\(x\.dtype\)", r"tl.dot(x.to(tl.float32), \1.to(tl.float32)"),
        ),
    ),
    _PRODUCT,
    start=(0b100000, 0),
    shapes=(
        {"M": 2048, "K": 2048, "N": 4096},
        {"M": 64, "K": 4096, "N": 4096},
        {"M": 8192, "K": 512, "N": 1024},
    ),
    fast=(0b001100, 0b000000, 0b001101, 0b000010),
    tiled=0b001100,
)

_SWIGLU = RealKernel(
    "swiglu",
    "benchmarks/replies/swiglu/good.md",
    "swiglu_kernel",
    (
        edit_site("no groups", "persistent_kernel", (r"GROUP=8", "GROUP=1")),
        edit_site(
            "mask every tile", "memory_access", (exactly("EVEN_K=K % 64 == 0"), "EVEN_K=False")
        ),
        edit_site(
            "widen operands",
            "dtype_fix",
            (r"tl\.dot\(x, (\w+), ", r"tl.dot(x.to(tl.float32), \1.to(tl.float32), "),
        ),
        edit_site(
            "add after the dot",
            "memory_access",
            (r"(\w+) = tl\.dot\((.*), \1\)\n", r"\1 += tl.dot(\2)\n"),
        ),
        edit_site(
            "divide by exp",
            "algorithmic",
            (r"tl\.sigmoid\(gate\)", "(1.0 / (1.0 + tl.exp(-gate)))"),
        ),
        edit_site("unroll the loop", "algorithmic", _UNROLLED),
    ),
    (
        OWN,
        _tiles(64, 64, 32, 4, 3),
        _tiles(128, 128, 64, 8, 3),
        _tiles(128, 128, 32, 8, 4),
        _tiles(64, 128, 64, 4, 3),
        _tiles(32, 32, 32, 4, 2),
    ),
    start=(0b011111, 5),
    spec="benchmarks/replies/swiglu.yaml",
    blind=True,
    fast=(0b000000, 0b001000, 0b100000),
)


def _attention_pin(text: str, setting: Setting) -> str:
    """The grid follows one of the tiles, and the keys' tile is a loop's step."""
    for name, value in {**setting.values, **setting.options}.items():
        text = re.sub(rf"\b{name}=\d+", f"{name}={value}", text)
    return re.sub(
        r"triton\.cdiv\(length, \d+\)", f"triton.cdiv(length, {setting.values['BLOCK_M']})", text
    )


_ATTENTION = RealKernel(
    "attention",
    "benchmarks/replies/attention/good.md",
    "attention_kernel",
    (
        edit_site(
            "mask every tile",
            "memory_access",
            (exactly("DIM, BLOCK_N, False"), "DIM, BLOCK_N, True"),
        ),
        edit_site(
            "powers of e",
            "algorithmic",
            (r"tl\.exp2\(", "tl.exp("),
            (exactly(" * 1.4426950408889634"), ""),
        ),
        edit_site(
            "add after the dot",
            "memory_access",
            (
                exactly("tl.dot(weight.to(v.dtype), v, acc * kept[:, None])"),
                "acc * kept[:, None] + tl.dot(weight.to(v.dtype), v)",
            ),
        ),
        edit_site(
            "load keys by rows",
            "memory_access",
            (
                exactly("k_ptr + keys[None, :] * DIM + dims[:, None]"),
                "k_ptr + keys[:, None] * DIM + dims[None, :]",
            ),
            (exactly("tl.load(k_at, mask=keys[None, :]"), "tl.load(k_at, mask=keys[:, None]"),
            (r"tl\.dot\(q, k\)", "tl.dot(q, tl.trans(k))"),
        ),
        edit_site(
            "widen the second product",
            "dtype_fix",
            (exactly("tl.dot(weight.to(v.dtype), v"), "tl.dot(weight, v.to(tl.float32)"),
        ),
        edit_site(
            "load values late",
            "memory_access",
            (r" {8}v = tl\.load\(.*\n", ""),
            (
                r"( {4})kept = .*\n",
                r"\g<0>\1v = tl.load(v_at, mask=keys[:, None] < length, other=0.0)\n",
            ),
        ),
    ),
    (
        OWN,
        _attention_tiles(64, 64, 4, 3),
        _attention_tiles(128, 128, 8, 3),
        _attention_tiles(128, 32, 4, 4),
        _attention_tiles(64, 32, 4, 3),
        _attention_tiles(32, 32, 4, 2),
    ),
    start=(0b011111, 5),
    spec="benchmarks/replies/attention.yaml",
    pin=_attention_pin,
    blind=True,
    fast=(0b000000, 0b100000, 0b001000),
)


_SOFTMAX_PASSES = re.compile(r"    highest = tl\.full.*?    row_sum = .*?\n", re.DOTALL)
_ONLINE = """    highest = tl.full((BLOCK,), -3.4e38, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        now = tl.maximum(highest, x)
        total = total * tl.exp(highest - now) + tl.exp(x - now)
        highest = now
    row_max = tl.max(highest, axis=0)
    row_sum = tl.sum(total * tl.exp(highest - row_max), axis=0)
"""


def _online(text: str, launches: Launches) -> str | None:
    return _SOFTMAX_PASSES.sub(_ONLINE, text, count=1) if "    total +=" in text else None


_PIPELINED = edit_site(
    "prefetch in loops",
    "memory_access",
    (r"for start in range\((.*)\):", r"for start in tl.range(\1, num_stages=3):"),
)
_SOFTMAX = RealKernel(
    "softmax",
    "examples/softmax.py",
    "softmax_kernel",
    (
        Site("maximum and sum in one pass", "algorithmic", _online),
        edit_site("blocks of 4096", "autotuning", (r"BLOCK=1024", "BLOCK=4096")),
        _PIPELINED,
        rewrite_site("single_pass_row", "algorithmic", "multi_pass_row"),
        edit_site(
            "powers of two",
            "algorithmic",
            (r"tl\.exp\((\w+) - (\w+)\)", r"tl.exp2((\1 - \2) * 1.4426950408889634)"),
        ),
        edit_site(
            "multiply by the reciprocal", "algorithmic", (r" / row_sum", " * (1.0 / row_sum)")
        ),
    ),
    _WARPS,
    shapes=(
        {"ROWS": 8192, "COLS": 8192},
        {"ROWS": 65536, "COLS": 512},
        {"ROWS": 1024, "COLS": 32768},
        {"ROWS": 16384, "COLS": 2048},
    ),
    fast=(0b001000, 0b111000, 0b010110),
    tiled=0b000001,
)


_SQUARES = re.compile(
    r"    total = tl\.zeros\(\(BLOCK,\), dtype=tl\.(\w+)\).*?    rstd = ", re.DOTALL
)
_ONE_PASS = """    total = tl.zeros((BLOCK,), dtype=tl.{type})
    squares = tl.zeros((BLOCK,), dtype=tl.{type})
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_row + cols, mask=cols < n_cols, other=0.0).to(tl.{type})
        total += x
        squares += x * x
    mean = tl.sum(total, axis=0) / n_cols
    variance = tl.sum(squares, axis=0) / n_cols - mean * mean
    rstd = """


def _one_pass(text: str, launches: Launches) -> str | None:
    found = _SQUARES.search(text)
    if found is None or "centred" not in found.group(0):
        return None
    new = _ONE_PASS.replace("{type}", found.group(1))
    return text[: found.start()] + new + text[found.end() :]


def _narrowed(text: str, launches: Launches, first: str, last: str) -> str | None:
    """Single precision in place of double between two lines; None where there is none."""
    begin, end = text.find(first), text.find(last)
    if begin < 0 or end < begin or "float64" not in text[begin:end]:
        return None
    return text[:begin] + text[begin:end].replace("float64", "float32") + text[end:]


_LAYERNORM = RealKernel(
    "layernorm",
    "examples/layernorm.py",
    "layernorm_kernel",
    (
        Site("fp32 mean", "dtype_fix", partial(_narrowed, first="    total =", last="    mean =")),
        Site(
            "fp32 variance",
            "dtype_fix",
            partial(_narrowed, first="    squares =", last="    variance ="),
        ),
        Site(
            "fp32 result",
            "dtype_fix",
            partial(_narrowed, first="    rstd =", last="        tl.store("),
        ),
        Site("variance in the first pass", "algorithmic", _one_pass),
        edit_site("blocks of 2048", "autotuning", (r"BLOCK=512", "BLOCK=2048")),
        rewrite_site("single_pass_row", "algorithmic", "multi_pass_row"),
    ),
    _WARPS,
    # Where every call waits for the device, the host's time hides what the kernel takes.
    without="    if x.is_cuda:\n        torch.cuda.synchronize()\n",
    blind=True,
    fast=(0b100111, 0b010111, 0b011111),
)


_AFFINE = re.compile(
    r"    for start in range\(0, size, BLOCK\):\n        at = [^\n]*\n        mask = at < size\n"
    r".*?, mask=mask\)\n(?=\n)",
    re.DOTALL,
)
_BY_CHANNEL = """    for inner in range(0, share):
        w = tl.load(w_ptr + (group % groups) * share + inner) * scale
        b = tl.load(b_ptr + (group % groups) * share + inner) - mean * w
        for start in range(0, pixels, BLOCK):
            at = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + base + inner * pixels + at, mask=at < pixels, other=0.0)
            tl.store(y_ptr + base + inner * pixels + at, x * w + b, mask=at < pixels)
"""
_MOMENTS = re.compile(r"    total = tl\.zeros.*?    scale = ", re.DOTALL)
_BOTH_MOMENTS = """    total = tl.zeros((BLOCK,), dtype=tl.float32)
    spread = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + at, mask=at < size, other=0.0)
        total += x
        spread += x * x
    mean = tl.sum(total) / size
    spread -= mean * mean * (size / BLOCK)
    scale = """


def _by_channel(text: str, launches: Launches) -> str | None:
    new, count = _AFFINE.subn(_BY_CHANNEL, text)
    return new if count else None


def _both_moments(text: str, launches: Launches) -> str | None:
    new, count = _MOMENTS.subn(_BOTH_MOMENTS, text)
    return new if count else None


_GROUP_NORM = RealKernel(
    "group_norm",
    "benchmarks/modules/group_norm.py",
    "group_norm_kernel",
    (
        Site("a loop over channels", "algorithmic", _by_channel),
        Site("variance in the first pass", "algorithmic", _both_moments),
        edit_site("blocks of 2048", "autotuning", (r"BLOCK=256", "BLOCK=2048")),
        _PIPELINED,
        edit_site(
            "keep what is read again",
            "memory_access",
            (
                r"mask=at < size, other=0\.0\)",
                r'mask=at < size, other=0.0, eviction_policy="evict_last")',
            ),
        ),
        edit_site(
            "do not keep results",
            "memory_access",
            (r"(tl\.store\(.*)\)\n", r'\1, cache_modifier=".cs")\n'),
        ),
    ),
    _WARPS,
    shapes=(
        {"N": 32, "H": 64, "W": 64},
        {"N": 256, "H": 16, "W": 16},
        {"N": 4, "H": 128, "W": 128},
    ),
    fast=(0b000101, 0b000111, 0b001101, 0b110101, 0b000100),
)

KERNELS: tuple[RealKernel, ...] = (
    _MATMUL, _SOFTMAX, _LAYERNORM, _LINEAR_GELU, _INT8_GEMM, _GROUP_NORM, _SWIGLU, _ATTENTION,
)  # fmt: skip
