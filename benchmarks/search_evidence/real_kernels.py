"""Eight real kernels, each with six sites that can be changed and six launch settings.

A site is a rewrite of the engine or an edit written here: of a kernel as it stands in the
repository, or of its good version from ``benchmarks/replies``. Every set of sites gives a text.
One that does not fit a text that others have changed gives none there.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tilewright.analysis import analyze
from tilewright.analysis.model import AnalysisContext
from tilewright.rewrites import rewrites_for, set_launch_config
from tilewright.rewrites.model import Refusal
from tilewright.source import parse_module
from tilewright.targets.model import LaunchFacts

ROOT = Path(__file__).resolve().parents[2]
Launches = Callable[[str], Sequence[LaunchFacts]]
Change = Callable[[str, Launches], str | None]
"""A text with a change made, given what captures launches; None where it does not fit."""


@dataclass(frozen=True)
class Site:
    """One place that a search may change; ``stage``: which of the engine's stages it belongs to."""

    name: str
    stage: str
    change: Change


@dataclass(frozen=True)
class Setting:
    """Constexprs and compiler options of the kernel that is tuned."""

    values: Mapping[str, int]
    options: Mapping[str, int]

    def __str__(self) -> str:
        return " ".join(
            f"{name}={value}" for name, value in {**self.values, **self.options}.items()
        )


@dataclass(frozen=True)
class RealKernel:
    """A kernel of the repository.

    Attributes:
        file: relative to the repository; its spec is the YAML file of that name, or ``spec``.
        tuned: the kernel whose launch the settings are for.
        start: sites that are changed where a search begins, and its setting.
        blind: kept apart while parameters of strategies are chosen.
        without: a part of the file that is left out.
        pin: how a setting is written down, where the engine's own way refuses the kernel.
        fast: sets of sites one of which is in the fastest text, as far as one can guess.
        shapes: extents of its timed case at which settings are measured too; may be empty.
        tiled: the set of sites of the text that is measured at them.
    """

    name: str
    file: str
    tuned: str
    sites: tuple[Site, ...]
    settings: tuple[Setting, ...]
    start: tuple[int, int] = (0, 0)
    spec: str = ""
    without: str = ""
    pin: Callable[[str, Setting], str] | None = None
    blind: bool = False
    fast: tuple[int, ...] = (0,)
    shapes: tuple[Mapping[str, int], ...] = ()
    tiled: int = 0

    @property
    def base(self) -> str:
        """The text that all others are changes of."""
        text = (ROOT / self.file).read_text("utf-8").replace(self.without, "")
        if not self.file.endswith(".md"):
            return text
        fence = re.search(r"```python\n(.*?)```", text, re.DOTALL)
        assert fence is not None
        return fence.group(1)

    @property
    def problem(self) -> Path:
        return ROOT / (self.spec or str(Path(self.file).with_suffix(".yaml")))

    def text(self, sites: int, setting: int, launches: Launches) -> str | None:
        """The text with the sites of a bit mask changed, and a setting; None if there is none."""
        text = self.changed(sites, launches)
        return None if text is None else self.pinned(text, self.settings[setting])

    def changed(self, sites: int, launches: Launches) -> str | None:
        """The text with sites changed, one after the other; None where one does not fit."""
        text: str | None = self.base
        for number, site in enumerate(self.sites):
            if text is not None and sites >> number & 1:
                text = site.change(text, launches)
        return text

    def pinned(self, text: str, setting: Setting) -> str | None:
        """The text with a launch setting; None where it cannot be written down."""
        if not setting.values and not setting.options:
            return text
        if self.pin is not None:
            return self.pin(text, setting)
        module = parse_module(text, self.problem.with_suffix(".py").name)
        pinned = set_launch_config(module, self.tuned, setting.values, setting.options)
        return None if isinstance(pinned, Refusal) else pinned


def _rewritten(text: str, launches: Launches, issue: str) -> str | None:
    """Every rewrite of an issue, one after the other, as long as one applies."""
    before = text
    for _ in range(12):
        module = parse_module(text, "kernel.py")
        context = AnalysisContext(launches=tuple(launches(text)))
        found = (one for one in analyze(module, context) if one.id == issue)
        results = (
            rewrite.apply(module, one, context) for one in found for rewrite in rewrites_for(issue)
        )
        new = next((one for one in results if not isinstance(one, Refusal)), None)
        if new is None or new == text:
            break
        text = new
    return text if text != before else None


def _edited(text: str, launches: Launches, edits: Sequence[tuple[str, str]]) -> str | None:
    """Each pattern replaced wherever it occurs; None where one does not occur."""
    for old, new in edits:
        text, count = re.subn(old, new, text)
        if not count:
            return None
    return text


def _rewrite(name: str, stage: str, issue: str) -> Site:
    return Site(name, stage, partial(_rewritten, issue=issue))


def _edit(name: str, stage: str, *edits: tuple[str, str]) -> Site:
    return Site(name, stage, partial(_edited, edits=edits))


def _exactly(old: str) -> str:
    return re.escape(old)


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
_IN_DOT = _edit("accumulate in the dot", "memory_access", (_DOT, r"\1 = tl.dot(\2, \1)\n"))
_FLAT_LOOP = r"for k in range\("
_UNROLLED = (r"(for k in) range\((.*)\):", r"\1 tl.range(\2, loop_unroll_factor=2):")
_UNROLL = _edit("unroll the loop", "algorithmic", _UNROLLED)

_MATMUL = RealKernel(
    "matmul",
    "examples/matmul.py",
    "matmul_kernel",
    (
        _rewrite("drop_dot_upcasts", "dtype_fix", "dtype_precision"),
        _rewrite("group_programs", "persistent_kernel", "no_swizzling"),
        _IN_DOT,
        _edit(
            "wrap rows",
            "memory_access",
            (r"\+ offs_m\[:, None\] \* stride_am", "+ (offs_m % M)[:, None] * stride_am"),
            (r"\+ offs_n\[None, :\] \* stride_bn", "+ (offs_n % N)[None, :] * stride_bn"),
            (r"\(offs_m\[:, None\] < M\) & (\(offs_k\[None, :\] < k_left\))", r"\1"),
            (r"(\(offs_k\[:, None\] < k_left\)) & \(offs_n\[None, :\] < N\)", r"\1"),
        ),
        _UNROLL,
        _edit(
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
        _rewrite("stable_tanh", "correctness", "unstable_tanh"),
        _rewrite("group_programs", "persistent_kernel", "no_swizzling"),
        _IN_DOT,
        _edit(
            "wrap rows",
            "memory_access",
            (r"\+ offs_m\[:, None\] \* stride_xm", "+ (offs_m % M)[:, None] * stride_xm"),
            (r"\+ offs_n\[None, :\] \* stride_wn", "+ (offs_n % N)[None, :] * stride_wn"),
            (r"\(offs_m\[:, None\] < M\) & (\(offs_k\[None, :\] < K\))", r"\1"),
            (r"(\(offs_k\[:, None\] < K\)) & \(offs_n\[None, :\] < N\)", r"\1"),
        ),
        _UNROLL,
        _edit(
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
        _edit(
            "rows first",
            "persistent_kernel",
            (_exactly("tl.program_id(0) * BLOCK_M"), "tl.program_id(1) * BLOCK_M"),
            (_exactly("tl.program_id(1) * BLOCK_N"), "tl.program_id(0) * BLOCK_N"),
            (
                _exactly("(triton.cdiv(M, 32), triton.cdiv(N, 32))"),
                "(triton.cdiv(N, 32), triton.cdiv(M, 32))",
            ),
        ),
        _edit(
            "load weights by rows",
            "memory_access",
            (
                _exactly("w_ptr + cols[None, :] * K + deep[:, None]"),
                "w_ptr + cols[:, None] * K + deep[None, :]",
            ),
            (
                _exactly("mask=(cols[None, :] < N) & (deep[:, None] < K), other=0,"),
                "mask=(cols[:, None] < N) & (deep[None, :] < K), other=0,",
            ),
            (_exactly("w.to(x.dtype)"), "tl.trans(w).to(x.dtype)"),
        ),
        _IN_DOT,
        _edit(
            "wrap rows",
            "memory_access",
            (_exactly("x_ptr + rows[:, None] * K"), "x_ptr + (rows % M)[:, None] * K"),
            (r"w_ptr \+ cols(\[.*?\]) \* K", r"w_ptr + (cols % N)\1 * K"),
            (r"\(rows\[:, None\] < M\) & (\(deep\[None, :\] < K\))", r"\1"),
            (r"\(cols\[.*?\] < N\) & (\(deep\[.*?\] < K\), other=0,)", r"\1"),
        ),
        _UNROLL,
        _edit(
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
        _edit("no groups", "persistent_kernel", (r"GROUP=8", "GROUP=1")),
        _edit("mask every tile", "memory_access", (_exactly("EVEN_K=K % 64 == 0"), "EVEN_K=False")),
        _edit(
            "widen operands",
            "dtype_fix",
            (r"tl\.dot\(x, (\w+), ", r"tl.dot(x.to(tl.float32), \1.to(tl.float32), "),
        ),
        _edit(
            "add after the dot",
            "memory_access",
            (r"(\w+) = tl\.dot\((.*), \1\)\n", r"\1 += tl.dot(\2)\n"),
        ),
        _edit(
            "divide by exp",
            "algorithmic",
            (r"tl\.sigmoid\(gate\)", "(1.0 / (1.0 + tl.exp(-gate)))"),
        ),
        _edit("unroll the loop", "algorithmic", _UNROLLED),
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
        _edit(
            "mask every tile",
            "memory_access",
            (_exactly("DIM, BLOCK_N, False"), "DIM, BLOCK_N, True"),
        ),
        _edit(
            "powers of e",
            "algorithmic",
            (r"tl\.exp2\(", "tl.exp("),
            (_exactly(" * 1.4426950408889634"), ""),
        ),
        _edit(
            "add after the dot",
            "memory_access",
            (
                _exactly("tl.dot(weight.to(v.dtype), v, acc * kept[:, None])"),
                "acc * kept[:, None] + tl.dot(weight.to(v.dtype), v)",
            ),
        ),
        _edit(
            "load keys by rows",
            "memory_access",
            (
                _exactly("k_ptr + keys[None, :] * DIM + dims[:, None]"),
                "k_ptr + keys[:, None] * DIM + dims[None, :]",
            ),
            (_exactly("tl.load(k_at, mask=keys[None, :]"), "tl.load(k_at, mask=keys[:, None]"),
            (r"tl\.dot\(q, k\)", "tl.dot(q, tl.trans(k))"),
        ),
        _edit(
            "widen the second product",
            "dtype_fix",
            (_exactly("tl.dot(weight.to(v.dtype), v"), "tl.dot(weight, v.to(tl.float32)"),
        ),
        _edit(
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


_PIPELINED = _edit(
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
        _edit("blocks of 4096", "autotuning", (r"BLOCK=1024", "BLOCK=4096")),
        _PIPELINED,
        _rewrite("single_pass_row", "algorithmic", "multi_pass_row"),
        _edit(
            "powers of two",
            "algorithmic",
            (r"tl\.exp\((\w+) - (\w+)\)", r"tl.exp2((\1 - \2) * 1.4426950408889634)"),
        ),
        _edit("multiply by the reciprocal", "algorithmic", (r" / row_sum", " * (1.0 / row_sum)")),
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
        _edit("blocks of 2048", "autotuning", (r"BLOCK=512", "BLOCK=2048")),
        _rewrite("single_pass_row", "algorithmic", "multi_pass_row"),
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
        _edit("blocks of 2048", "autotuning", (r"BLOCK=256", "BLOCK=2048")),
        _PIPELINED,
        _edit(
            "keep what is read again",
            "memory_access",
            (
                r"mask=at < size, other=0\.0\)",
                r'mask=at < size, other=0.0, eviction_policy="evict_last")',
            ),
        ),
        _edit(
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
