"""Subjects of profiles for tests: examples at real shapes on an H200, with times and counters."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from tilewright.hardware.chips import chip
from tilewright.profiling.model import Counters, Interval
from tilewright.profiling.observed import Observed
from tilewright.profiling.subjects import work_of
from tilewright.source import parse_module
from tilewright.source.model import Module
from tilewright.targets.model import (
    Access,
    ArgumentFacts,
    CompileReport,
    LaunchFacts,
    LineReport,
    Target,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
H200 = chip("cuda:90")
N = 8192


@cache
def example(name: str) -> Module:
    path = EXAMPLES / f"{name}.py"
    return parse_module(path.read_text(), str(path))


def line_of(name: str, text: str) -> int:
    """The only line of an example that has ``text``."""
    lines = (EXAMPLES / f"{name}.py").read_text().splitlines()
    (found,) = [at for at, line in enumerate(lines, 1) if text in line]
    return found


def tensor(name: str, kind: str, *shape: int) -> ArgumentFacts:
    strides = tuple(_product(shape[at + 1 :]) for at in range(len(shape)))
    return ArgumentFacts(name, "tensor", f"*{kind}", None, shape, strides, True)


def number(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "int", "i32", value, divisible_by_16=value % 16 == 0)


def constexpr(name: str, value: int) -> ArgumentFacts:
    return ArgumentFacts(name, "constexpr", "constexpr", value)


def softmax_launch() -> LaunchFacts:
    arguments = (
        tensor("x_ptr", "fp32", N, N), tensor("y_ptr", "fp32", N, N), number("n_cols", N),
        number("stride_x", N), number("stride_y", N), constexpr("BLOCK", 1024),
    )  # fmt: skip
    return LaunchFacts("softmax_kernel", (N,), arguments)


def matmul_launch(n: int = 4096, block: int = 32) -> LaunchFacts:
    tensors = (tensor(name, "fp16", n, n) for name in ("a_ptr", "b_ptr", "c_ptr"))
    sizes = (number(name, n) for name in ("M", "N", "K"))
    strides = (
        number(f"stride_{name}", value)
        for name, value in (("am", n), ("ak", 1), ("bk", n), ("bn", 1), ("cm", n), ("cn", 1))
    )
    blocks = (constexpr(f"BLOCK_{axis}", block) for axis in "MNK")
    grid = (-(-n // block), -(-n // block))
    return LaunchFacts("matmul_kernel", grid, (*tensors, *sizes, *strides, *blocks))


def softmax(median_us: float, counters: Mapping[str, float] | None = None) -> Observed:
    """The softmax example at 8192 x 8192 fp32, which took so long."""
    launch = softmax_launch()
    report = CompileReport(
        Target("cuda", "90"), "softmax_kernel", launch, True, registers=32, spill_bytes=0,
        shared_bytes=16, details={"warps": 4},
        lines=(LineReport(24, 20, (Access("load", "global", 128, 2, 128),)),),
    )  # fmt: skip
    return _observed("softmax", launch, report, median_us, counters)


def matmul(
    median_us: float, counters: Mapping[str, float] | None = None, tensor_unit: str = "mma"
) -> Observed:
    """The matmul example at 4096 cubed, fp16 in 32-wide tiles."""
    launch = matmul_launch()
    line = line_of("matmul", "tl.dot")
    tensors = {tensor_unit: 16} if tensor_unit else {}
    report = CompileReport(
        Target("cuda", "90"), "matmul_kernel", launch, True, registers=45, spill_bytes=0,
        shared_bytes=8192, details={"warps": 4},
        lines=(LineReport(line, 40, (), tensors, dots=1, loop_depth=1),),
    )  # fmt: skip
    return _observed("matmul", launch, report, median_us, counters)


def _observed(
    name: str,
    launch: LaunchFacts,
    report: CompileReport,
    median_us: float,
    counters: Mapping[str, float] | None,
) -> Observed:
    return Observed(
        launch.kernel,
        H200,
        work_of(example(name), launch),
        time=Interval(median_us, median_us * 0.99, median_us * 1.01),
        counters=Counters(counters, tool="ncu") if counters is not None else None,
        report=report,
    )


def with_spec(seen: Observed, bytes_: float | None, flop: float | None) -> Observed:
    return replace(seen, work=replace(seen.work, spec_bytes=bytes_, spec_flop=flop))


def _product(sizes: tuple[int, ...]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
