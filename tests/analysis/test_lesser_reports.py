"""Reports that are advice where less is certain, or less is lost, than their issue says."""

import pytest

from tilewright.analysis import AnalysisContext, analyze
from tilewright.knowledge.model import ADVICE, HINT
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

_CONTEXT = AnalysisContext(target=Target("cuda", "90"), triton_version=(3, 6))

_HELPERS = """
@triton.jit
def greater(a, b):
    return tl.math.max(a, b)

@triton.jit
def above(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, {called}(tl.load(x_ptr + i), 0.0))

def launch(x, y):
    above[(x.numel() // 128,)](x, y, B=128)
"""
_WEIGHTED = """
@triton.jit
def weighted(w_ptr, dy_ptr, out_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    inside = at < n
    w = tl.load(w_ptr + at, mask=inside)
    dy = tl.load(dy_ptr + at, mask=inside, other=0.0)
    tl.store(out_ptr, tl.{reduced}(w * dy, axis=0))

def weigh(w, dy, out):
    weighted[(1,)](w, dy, out, w.shape[0], B=triton.next_power_of_2(w.shape[0]))
"""
_READ = """
@triton.jit
def scaled(x_ptr, w_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    w = tl.load(w_ptr + at)
    tl.store(y_ptr + at, {scaled}, mask=at < n)

def scale(x, w, y):
    scaled[(triton.cdiv(x.numel(), 128),)](x, w, y, x.numel(), B=128)
"""
_LOCKED = """
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, lock_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(y_ptr + at, x + tl.load(y_ptr + at, mask=at < n), mask=at < n)
    tl.atomic_xchg(lock_ptr, 0)
"""
_CHECKED = """
import triton
import triton.language as tl

@triton.jit
def filled(x_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + at, 0.0, mask=at < n)

def fill(x):
    {check}
    filled[(triton.cdiv(x.numel(), 128),)](x, x.numel(), B=128)
"""
_CONFIGURED = """
@triton.autotune(configs=[{configs}], key=["n"])
@triton.jit
def filled(x_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x_ptr + at, 0.0, mask=at < n)
"""
_PRODUCTS = """
@triton.jit
def products(a_ptr, b_ptr, c_ptr, n, B: tl.constexpr, C: tl.constexpr):
    rows, cols, ks = tl.arange(0, B), tl.arange(0, C), tl.arange(0, 32)
    acc = tl.zeros((B, C), tl.float32)
    for start in range(0, n, 32):
        a = tl.load(a_ptr + rows[:, None] * n + start + ks[None, :])
        b = tl.load(b_ptr + (start + ks)[:, None] * C + cols[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * C + cols[None, :], acc)
"""
_HELD = (
    _PRODUCTS
    + """
def launch(a, b, c, n):
    products[(1,)](a, b, c, n, B=128, C={columns}, num_warps={warps})
"""
)
_ATOMICS = """
@triton.jit
def counted(x_ptr, o_ptr, n, B: tl.constexpr):
    {name} = tl.program_id(1)
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + {name} * n + i)
    tl.{operation}(o_ptr + i, x)

def launch(x, o, b):
    counted[(o.numel() // 128, x.shape[0])](x, o, o.numel(), B=128)
"""

_NORM = """
@triton.jit
def norm(x_ptr, y_ptr, {length}, B: tl.constexpr):
    row, mean, total = tl.program_id(0), 0.0, 0.0
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        mean += tl.sum(x, 0) / n
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B)) - mean
        total += tl.sum(x * x, 0)
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B)) - mean
        tl.store(y_ptr + row * n + start + tl.arange(0, B), x / total)

def normed(x, y):
    norm[(x.shape[0],)](x, y, {width}, B={block})
"""
_SCORED = """
@triton.jit
def scale(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)

def scored(x, w, y):
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
    return {scores}
"""
_ADDED = """
@triton.jit
def counted(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    tl.atomic_add(o_ptr + i, {added})
"""
_COPIED = """
@triton.jit
def scale(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)

def scaled(x, y):
    scale[({grid},)](x, y, x.numel(), B={block})
"""
_SUMMED = """
@triton.jit
def summed(x_ptr, y_ptr, n, B: tl.constexpr):
    total = 0.0
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        total += tl.sum(tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0), 0)
    tl.store(y_ptr + tl.program_id(0), total)

def sums(x, y, block=256):
    summed[(x.shape[0],)](x, y, x.shape[1], B={block})
"""
_SUMMED_AGAIN = """
@triton.jit
def summed(x_ptr, y_ptr, z_ptr, n, B: tl.constexpr):
    total = 0.0
    for start in range(0, n, B):
        at = start + tl.arange(0, B)
        x = tl.load(x_ptr + tl.program_id(0) * n + at, mask=at < n, other=0.0)
        total += tl.sum(x, 0)
        tl.store(z_ptr + tl.program_id(0) * n + at, {more}, mask=at < n)
    tl.store(y_ptr + tl.program_id(0), total)

def sums(x, y, z):
    summed[(x.shape[0],)](x, y, z, x.shape[1], B=256)
"""
_MULTIPLIED = """
@triton.jit
def multiplied(a_ptr, b_ptr, c_ptr, N, K, B: tl.constexpr, C: tl.constexpr, S: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    cols = tl.program_id(1) * C + tl.arange(0, C)
    acc = tl.zeros((B, C), tl.float32)
    for start in range(0, K, S):
        k = start + tl.arange(0, S)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :])
        acc = tl.dot(a, tl.load(b_ptr + k[:, None] * N + cols[None, :]), acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc)

def multiply(a, b, c):
    M, K = a.shape
    N = b.shape[1]
    multiplied[(M // {rows}, N // 128)](a, b, c, N, K, B={rows}, C=128, S=32)
"""
_ATTENDED = """
@triton.jit
def attended(q_ptr, k_ptr, v_ptr, o_ptr, n, D: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    total = tl.zeros((B, D), tl.float32)
    for start in range(0, n, C):
        cols = start + tl.arange(0, C)
        s = tl.dot(q, tl.load(k_ptr + cols[None, :] * D + d[:, None]))
        total = tl.dot(tl.exp(s), tl.load(v_ptr + cols[:, None] * D + d[None, :]), total)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], total)

def attend(q, k, v, o):
    attended[(q.shape[0] // {rows},)](q, k, v, o, k.shape[0], D=32, B={rows}, C={keys})
"""
_SCATTERED = """
@triton.jit
def scattered(to_ptr, x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    to = tl.load(to_ptr + at, mask=at < n)
    x = tl.load(x_ptr + at, mask=at < n{other})
    tl.atomic_add(y_ptr + to, x)

def scatter(to, x, y):
    scattered[(triton.cdiv(x.numel(), 128),)](to, x, y, x.numel(), B=128)
"""
_OLD_KEY = """
@triton.autotune([triton.Config({{"B": 64}}){more}], key=["width"])
@triton.jit
def copied(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)
"""
_ZEROED = """
import torch

@triton.jit
def added(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

def add(x, n):
    y = torch.empty({made})
    added[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), B=256)
    return y
"""


def _one(issue: str, text: str, context: AnalysisContext = _CONTEXT) -> tuple[int, str]:
    found = [i for i in analyze(parse_module(text), context) if i.id == issue]
    assert len(found) == 1
    return found[0].severity, found[0].message


@pytest.mark.parametrize(
    ("issue", "text", "certain", "less"),
    [
        ("removed_api", _HELPERS, {"called": "greater"}, {"called": "tl.maximum"}),
        (
            "multi_pass_row",
            _NORM,
            {
                "length": "n",
                "width": "x.shape[1]",
                "block": "triton.next_power_of_2(x.shape[1])",
            },
            {"length": "n", "width": "x.shape[1]", "block": 1024},
        ),
        (
            "multi_pass_row",
            _NORM,
            {"length": "n: tl.constexpr", "width": 16384, "block": 1024},
            {"length": "n: tl.constexpr", "width": "x.shape[1]", "block": 1024},
        ),
        (
            "multi_pass_row",
            _NORM,
            {
                "length": "n",
                "width": "x.shape[1]",
                "block": "triton.next_power_of_2(x.shape[1])",
            },
            {
                "length": "n",
                "width": "x.shape[1]",
                "block": "min(4096, triton.next_power_of_2(x.shape[1]))",
            },
        ),
        (
            "suboptimal_algorithm",
            _SCORED,
            {"scores": "(y @ w).mean(dim=-1)"},
            {"scores": "(y @ w).mean(dim=1)"},
        ),
        (
            "atomic_without_mask",
            _ADDED,
            {"added": "tl.where(i < n, x, 1.0)"},
            {"added": "tl.where(i < n, x, 0.0)"},
        ),
        ("reduction_tree_suboptimal", _SUMMED, {"block": 512}, {"block": 1024}),
        ("reduction_tree_suboptimal", _SUMMED, {"block": 256}, {"block": "block"}),
        (
            "autotune_unknown_name",
            _OLD_KEY,
            {"more": ', triton.Config({"B": 128})'},
            {"more": ""},
        ),
        (
            "undefined_name",
            _CHECKED,
            {"check": "assert K % 16 == 0"},
            {"check": "assert x.is_cuda, f'{K} columns'"},
        ),
        (
            "undefined_name",
            _CHECKED,
            {"check": "x += K"},
            {"check": "if x.numel() > 3:\n        raise ValueError(K)"},
        ),
        (
            "suboptimal_autotune_configs",
            _CONFIGURED,
            {"configs": "triton.Config({'B': 64, 'num_warps': 8}), triton.Config({'B': 32})"},
            {"configs": "*[triton.Config({'B': 64 * b}) for b in range(1, 61)]"},
        ),
        (
            "suboptimal_autotune_configs",
            _CONFIGURED,
            {"configs": "triton.Config({'B': 64}, num_warps=6), triton.Config({'B': 64})"},
            {"configs": "triton.Config({'B': 64}), triton.Config({'B': 64})"},
        ),
        (
            "suboptimal_autotune_configs",
            _CONFIGURED,
            {"configs": "triton.Config({'B': 64}), triton.Config({'B': 64})"},
            {"configs": "*[triton.Config({'B': b}) for b in (16, 32, 64, 128, 64)]"},
        ),
        ("reduction_tree_suboptimal", _SUMMED_AGAIN, {"more": "x * 2"}, {"more": "x - tl.max(x)"}),
    ],
)
def test_what_is_less_certain_is_advice(
    issue: str, text: str, certain: dict[str, object], less: dict[str, object]
) -> None:
    severe, _ = _one(issue, text.format(**certain))
    advice, _ = _one(issue, text.format(**less))
    assert min(severe, 3) > advice


@pytest.mark.parametrize(
    ("issue", "text", "certain", "less"),
    [
        ("undefined_other", _WEIGHTED, {"reduced": "max"}, {"reduced": "sum"}),
        ("undefined_other", _SCATTERED, {"other": ", other=1.0"}, {"other": ""}),
        (
            "suboptimal_tile_size",
            _COPIED,
            {"grid": "triton.cdiv(x.numel(), 32768)", "block": 32768},
            {"grid": "triton.cdiv(x.numel(), 8192)", "block": 8192},
        ),
        (
            "suboptimal_tile_size",
            _COPIED,
            {"grid": "triton.cdiv(x.numel(), 32768)", "block": 32768},
            {"grid": "triton.cdiv(x.numel(), 8)", "block": 8},
        ),
    ],
)
def test_what_was_seldom_right_is_a_hint_without_a_launch(
    issue: str, text: str, certain: dict[str, object], less: dict[str, object]
) -> None:
    for values, is_certain in ((certain, True), (less, False)):
        module = parse_module(text.format(**values))
        launches = tuple(LaunchFacts(kernel.name, (64,), ()) for kernel in module.kernels)
        severity, _ = _one(issue, module.text, AnalysisContext(launches=launches))
        assert (severity > ADVICE) is is_certain
        assert _one(issue, module.text)[0] == HINT


@pytest.mark.parametrize(
    "text",
    [
        _READ.format(scaled="w / tl.sum(w)"),
        _READ.format(scaled="w * 2"),
        _ZEROED.format(made="x.numel() // 2"),
        _ZEROED.format(made="n"),
    ],
)
def test_what_masks_leave_open_is_a_hint_without_a_launch(text: str) -> None:
    assert _one("missing_boundary_check", text)[0] == HINT


@pytest.mark.parametrize(
    ("text", "sizes", "is_captured", "severity"),
    [
        (_MULTIPLIED, {"rows": 64}, True, 2),
        (_MULTIPLIED, {"rows": 128}, True, 1),
        (_MULTIPLIED, {"rows": 64}, False, 1),
        (_ATTENDED, {"rows": 32, "keys": 64}, True, 2),
        (_ATTENDED, {"rows": 64, "keys": 64}, True, 1),
    ],
)
def test_tiles_are_advice_where_a_captured_launch_shows_small_ones(
    text: str, sizes: dict[str, int], is_captured: bool, severity: int
) -> None:
    module = parse_module(text.format(**sizes))
    (kernel,) = module.kernels
    stated = {"B": sizes["rows"], "C": sizes.get("keys", 128), "S": 32, "D": 32}
    given = tuple(ArgumentFacts(name, "constexpr", "int", value=n) for name, n in stated.items())
    launches = (LaunchFacts(kernel.name, (8, 8), given),) if is_captured else ()
    found = analyze(module, AnalysisContext(launches=launches))
    assert [i.severity for i in found if i.id == "missing_autotune"] == [severity]


@pytest.mark.parametrize(("dtype", "severities"), [("fp32", {4}), ("fp64", set()), (None, {1})])
def test_doubles_are_a_hint_where_the_types_are_not_known(
    dtype: str | None, severities: set[int]
) -> None:
    text = """
@triton.jit
def copied(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr).to(tl.float64))

def launch(x, y):
    copied[(1,)](x, y)
"""
    given = tuple(ArgumentFacts(name, "tensor", f"*{dtype}") for name in ("x_ptr", "y_ptr"))
    launches = (LaunchFacts("copied", (1,), given),) if dtype else ()
    found = analyze(parse_module(text), AnalysisContext(launches=launches))
    assert {i.severity for i in found if i.id == "dtype_float64"} == severities


def test_a_number_of_the_module_is_not_that_of_a_parameter_of_its_name() -> None:
    text = """
@triton.jit
def summed(x_ptr, y_ptr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, tl.associative_scan(tl.load(x_ptr + i), 0, added))

def sums(x, y, {parameter}):
    summed[(x.shape[0],)](x, y, K)

K = 16
"""
    found = [
        {issue.id for issue in analyze(parse_module(text.format(parameter=name)), _CONTEXT)}
        for name in ("n", "K")
    ]
    assert ["suboptimal_tile_size" in ids for ids in found] == [True, False]


def test_a_maximum_is_named() -> None:
    _, message = _one("contended_atomics", _ATOMICS.format(name="b", operation="atomic_max"))
    assert "takes the maximum at the same addresses" in message


def test_a_spill_is_possible_or_sure() -> None:
    _, sure = _one("high_register_pressure", _HELD.format(columns=256, warps=4))
    _, possible = _one("high_register_pressure", _HELD.format(columns=128, warps=3))
    assert "it spills" in sure
    assert "it may spill" in possible


@pytest.mark.parametrize(
    ("test", "severity"), [("HAS_BIAS", 2), ("b_ptr is not None", 2), ("n > 4", 5)]
)
def test_an_unknown_name_that_a_constant_may_leave_out_is_less_certain(
    test: str, severity: int
) -> None:
    text = f"""
import triton
import triton.language as tl

@triton.jit
def shifted(x_ptr, b_ptr, n, HAS_BIAS: tl.constexpr, B: tl.constexpr):
    o = tl.arange(0, B)
    if {test}:
        tl.store(x_ptr + o, bias, mask=o < n)
"""
    issues = analyze(parse_module(text, "shifted.py"))
    assert [i.severity for i in issues if i.id == "undefined_name"] == [severity]


@pytest.mark.parametrize(
    ("first", "severity"),
    [
        ("scale[(n_rows,)](y, out, n_rows, n_cols, BLOCK=1024)", 1),
        ("scale[(n_rows,)](x, out, n_rows, n_cols, BLOCK=1024)", 2),
        ("scale[(n_rows,)](y, out, n_cols, n_cols, BLOCK=1024)", 2),
    ],
)
def test_an_exchange_that_goes_with_other_operands_is_advice(first: str, severity: int) -> None:
    text = f"""
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    row, cols = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols)
    tl.store(out_ptr + row * n_cols + cols, x * 2, mask=cols < n_cols)

def run(x, y, out):
    n_rows, n_cols = x.shape
    {first}
    scale[(n_cols,)](x, out, n_cols, n_rows, BLOCK=1024)
"""
    issues = analyze(parse_module(text, "scale.py"))
    assert [i.severity for i in issues if i.id == "exchanged_arguments"] == [severity]


@pytest.mark.parametrize(
    ("version", "severity"), [(None, 5), ((3, 1), 2), ((3, 2), 5), ((3, 8), 5), ((3, 9), 2)]
)
def test_a_lock_is_advice_where_the_compiler_sets_a_barrier(
    version: tuple[int, int] | None, severity: int
) -> None:
    launch = "def run(x, y, lock):\n    add[(x.shape[0],)](x, y, lock, x.shape[1], B=64)\n"
    found = analyze(parse_module(f"{_LOCKED}\n{launch}"), AnalysisContext(triton_version=version))
    assert [i.severity for i in found if i.id == "lock_without_barrier"] == [severity]


_TUNED = """
import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({{"BLOCK": 128}}), triton.Config({{"BLOCK": 256}})]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def doubled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

def double(x, block, least=128, most=256):
    y = torch.empty_like(x)
    rows, columns = x.shape
    grid = ({grid},)
    doubled[grid](x, y, x.numel())
    return y
"""


@pytest.mark.parametrize(
    ("grid", "severities"),
    [
        ("triton.cdiv(x.numel(), 256)", [5]),
        ("(x.numel() + 255) // 256", [5]),
        ("triton.cdiv(x.numel(), most)", [5]),
        ("triton.cdiv(x.numel(), block)", [2]),
        ("64", [2]),
        ("counted(x)", [2]),
        ("triton.cdiv(x.numel(), 128)", []),
        ("(x.numel() + 127) // 128", []),
        ("-(-x.numel() // 128)", []),
        ("max(1, rows * triton.cdiv(columns, 64))", []),
        ("triton.cdiv(x.numel(), least)", []),
        ("rows * columns", []),
        ("x.numel()", []),
    ],
)
def test_a_grid_of_tuned_blocks_is_as_certain_as_its_divisor(
    grid: str, severities: list[int]
) -> None:
    found = analyze(parse_module(_TUNED.format(grid=grid)), _CONTEXT)
    assert [i.severity for i in found if i.id == "grid_ignores_tuned_block"] == severities
    assert not any(i.id == "grid_block_mismatch" for i in found), "one fault is one report"


_COUNTED = """
import triton
import triton.language as tl

CONFIGS = [triton.Config({{}}, num_warps=4), triton.Config({{}}, num_warps=8)]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def counted(x_ptr, count_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(count_ptr, 1)
    {then}
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)
"""


@pytest.mark.parametrize(
    ("then", "severities"),
    [
        ("pass", [5]),
        ("while tl.atomic_add(count_ptr, 0) < 4:\n        pass", [2]),
        ("tl.atomic_xchg(count_ptr, 0)", []),
    ],
)
def test_a_count_that_programs_wait_for_is_no_result(then: str, severities: list[int]) -> None:
    found = analyze(parse_module(_COUNTED.format(then=then)), _CONTEXT)
    assert [i.severity for i in found if i.id == "autotune_missing_reset"] == severities


@pytest.mark.parametrize(("line", "severity"), [("x = x * 2.0", 5), ("x = x**2.0", 2)])
def test_what_goes_wrong_in_runs_waits_for_a_kernel_that_compiles(line: str, severity: int) -> None:
    text = _COUNTED.format(then="x = tl.load(x_ptr + at, mask=at < n)\n    " + line)
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "autotune_missing_reset"] == [severity]


@pytest.mark.parametrize(("block", "severities"), [("32", []), ("64", [5]), ("block", [2])])
def test_a_lock_needs_no_barrier_where_the_releasing_warp_stores(
    block: str, severities: list[int]
) -> None:
    launch = f"add[(x.shape[0],)](x, y, lock, x.shape[1], B={block})"
    text = f"{_LOCKED}\ndef run(x, y, lock, block):\n    {launch}\n"
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "lock_without_barrier"] == severities


@pytest.mark.parametrize(
    ("extent", "mean", "severity"), [("columns", 1, 2), ("columns", 0, 1), ("head_dim", 1, 1)]
)
def test_two_passes_and_passes_over_a_head_are_a_hint(
    extent: str, mean: int, severity: int
) -> None:
    first = f"""
    for start in range(0, {extent}, B):
        at = start + tl.arange(0, B)
        mean += tl.sum(tl.load(x_ptr + row + at, mask=at < {extent}, other=0.0))
"""
    text = f"""
import triton
import triton.language as tl

@triton.jit
def normalized(x_ptr, y_ptr, {extent}, B: tl.constexpr):
    row = tl.program_id(0) * {extent}
    total, mean = 0.0, 0.0
{first if mean else ""}
    for start in range(0, {extent}, B):
        at = start + tl.arange(0, B)
        x = tl.load(x_ptr + row + at, mask=at < {extent}, other=0.0)
        total += tl.sum(x * x) - mean
    for start in range(0, {extent}, B):
        at = start + tl.arange(0, B)
        x = tl.load(x_ptr + row + at, mask=at < {extent}, other=0.0)
        tl.store(y_ptr + row + at, x / total, mask=at < {extent})

def normalize(x, y):
    {extent} = x.shape[1]
    block = triton.next_power_of_2({extent})
    normalized[(x.shape[0],)](x, y, {extent}, B=block)
"""
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "multi_pass_row"] == [severity]


@pytest.mark.parametrize(("last", "is_reported"), [("_", False), ("columns", True)])
def test_an_extent_that_the_host_drops_is_that_of_a_square(last: str, is_reported: bool) -> None:
    text = f"""
import triton
import triton.language as tl

@triton.jit
def copied(x_ptr, y_ptr, n, stride_b, stride_i, stride_j, B: tl.constexpr):
    columns = tl.arange(0, B)
    places = tl.program_id(0) * stride_b + tl.program_id(1) * stride_i + columns * stride_j
    tl.store(y_ptr + places, tl.load(x_ptr + places, mask=columns < n), mask=columns < n)

def copy(x, y):
    batches, n, {last} = x.shape
    block = triton.next_power_of_2(n)
    grid = (batches, 8)
    copied[grid](x, y, n, x.stride(0), x.stride(1), x.stride(2), B=block)
"""
    found = {issue.id for issue in analyze(parse_module(text), _CONTEXT)}
    assert ("walked_axis_mismatch" in found) is is_reported


@pytest.mark.parametrize(
    ("read", "severity"),
    [
        ("y = missing(x)", 5),
        ("y = missing(x) if n else x", 2),
        ("y = x if missing(x) else n", 5),
        ("y = n and missing(x)", 2),
        ("if n:\n        y = missing(x)", 2),
        ("if missing(x):\n        y = n", 5),
        ("y = missing(x) if n else missing(n)\n    y = missing(y)", 5),
        ("try:\n        y = n\n    except ValueError:\n        y = missing(x)", 2),
    ],
)
def test_a_name_that_only_some_calls_read_is_advice(read: str, severity: int) -> None:
    text = f"""
import triton
import triton.language as tl

@triton.jit
def filled(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 0.0)

def fill(x, n=None):
    {read}
    filled[(1,)](x, B=16)
"""
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "undefined_name"] == [severity]


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        ("**options", 2),
        ("CHECKED=False", 2),
        ("CHECKED=True", 5),
        ("CHECKED=x.is_cuda", 3),
        ("**options, CHECKED=x.is_cuda", 3),
    ],
)
def test_a_branch_that_launches_leave_out_is_advice(given: str, severity: int) -> None:
    """A default holds where nothing outside of the kernels names the flag."""
    text = f"""
import triton
import triton.language as tl

@triton.jit
def filled(x_ptr, n, CHECKED: tl.constexpr = False):
    for i in range(n):
        if CHECKED:
            break
        tl.store(x_ptr + i, 0.0)

def fill(x):
    options = {{"num_warps": 4}}
    filled[(1,)](x, 8, {given})
"""
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "unsupported_syntax"] == [severity]


@pytest.mark.parametrize(("used", "severity"), [("", 5), ("import triton_viz\n", 2)])
def test_a_dot_that_the_interpreter_takes_is_advice(used: str, severity: int) -> None:
    text = f"""
{used}import triton
import triton.language as tl

@triton.jit
def product(x_ptr, y_ptr):
    at = tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + at).to(tl.float16)
    tl.store(y_ptr + at, tl.dot(x, x))

def run(x, y):
    product[(1,)](x, y)
"""
    found = analyze(parse_module(text), _CONTEXT)
    assert [i.severity for i in found if i.id == "dot_tile_too_small"] == [severity]


@pytest.mark.parametrize(("option", "reports"), [("'grf_mode': '128'", 0), ("'C': 128", 1)])
def test_the_chip_judges_no_configuration_of_another_vendor(option: str, reports: int) -> None:
    """64 warps are too many for a program on an NVIDIA chip, and not on Intel's."""
    configs = f"triton.Config({{'B': 64, {option}}}, num_warps=64), triton.Config({{'B': 32}})"
    text = _CONFIGURED.format(configs=configs)
    found = [i for i in analyze(parse_module(text), _CONTEXT) if "exceed the warps" in i.message]
    assert len(found) == reports
