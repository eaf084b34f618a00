"""Small kernels, launched by hand."""

from tilewright.costs.model import Workload
from tilewright.costs.workload import workload
from tilewright.source import parse_module
from tilewright.targets.model import ArgumentFacts, LaunchFacts

COPY = """
import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, x, mask=at < n)
"""

MATMUL = """
import triton
import triton.language as tl

@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rows[:, None] * K + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total.to(tl.float16))
"""

TAPS = """
import triton
import triton.language as tl

@triton.jit
def taps(x_ptr, y_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for tap in range(5):
        total += tl.load(x_ptr + at + tap)
    tl.store(y_ptr + at, total)
"""

HALVES = """
import triton
import triton.language as tl

@triton.jit
def halves(x_ptr, y_ptr, width, HALF: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    gate = tl.load(x_ptr + row * width + at)
    up = tl.load(x_ptr + row * width + HALF + at)
    tl.store(y_ptr + row * HALF + at, gate * up)
"""

SCALED = """
import triton
import triton.language as tl

@triton.jit
def scaled(x_ptr, y_ptr, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for step in range(ROWS):
        row = tl.program_id(0) * ROWS + step
        x = tl.load(x_ptr + row * width + at, mask=at < width)
        tl.store(y_ptr + row * width + at, 2 * x, mask=at < width)
"""

SHARES = """
import triton
import triton.language as tl

@triton.jit
def shares(x_ptr, y_ptr, rows, EACH: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * EACH
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(first, min(first + EACH, rows)):
        total += tl.load(x_ptr + row * BLOCK + at)
    tl.store(y_ptr + tl.program_id(0) * BLOCK + at, total)
"""

GATHER = """
import triton
import triton.language as tl

@triton.jit
def gather(index_ptr, x_ptr, y_ptr, width, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    index = tl.load(index_ptr + rows)
    x = tl.load(x_ptr + index[:, None] * width + columns[None, :])
    tl.store(y_ptr + rows[:, None] * width + columns[None, :], x)
"""


def tensor(name: str, kind: str, *shape: int) -> ArgumentFacts:
    return ArgumentFacts(name, "tensor", f"*{kind}", None, shape, divisible_by_16=True)


def number(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "int", "i32", value)


def constant(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "constexpr", "constexpr", value)


def copy_launch(n: int, block: int, warps: int = 4) -> LaunchFacts:
    given = (tensor("x_ptr", "fp32", n), tensor("y_ptr", "fp32", n), number("n", n))
    grid = (-(-n // block),)
    return LaunchFacts("copy", grid, (*given, constant("BLOCK", block)), {"num_warps": warps})


def matmul_launch(m: int, n: int, k: int, bm: int, bn: int, bk: int) -> LaunchFacts:
    given = (
        tensor("a_ptr", "fp16", m, k),
        tensor("b_ptr", "fp16", k, n),
        tensor("c_ptr", "fp16", m, n),
        *(number(name, value) for name, value in (("M", m), ("N", n), ("K", k))),
        *(constant(name, value) for name, value in (("BM", bm), ("BN", bn), ("BK", bk))),
    )
    options = {"num_warps": 4, "num_stages": 3}
    return LaunchFacts("matmul", (-(-m // bm), -(-n // bn)), given, options)


def work_of(text: str, launch: LaunchFacts) -> Workload:
    module = parse_module(text)
    kernel = module.kernel(launch.kernel)
    assert kernel is not None
    return workload(module, kernel, launch)
