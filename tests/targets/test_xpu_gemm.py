"""A matrix product in tiles of 128 x 128 x 32 for an Intel chip: what fits, and how it loads."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tilewright.devices.discovery import close_all
from tilewright.devices.model import Device
from tilewright.devices.opening import open_device
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import ArgumentFacts, CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError, xpu_toolchain

pytestmark = [pytest.mark.triton, pytest.mark.slow]

KERNELS = Path(__file__).with_name("xpu_gemm_kernels.py")
B70 = Target("xpu", "bmg-g31")
EXTENT = 4096
TILE = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}
DPAS_A_PROGRAM = 256  # 128 x 128 x 32 multiplications and additions, 8 x 16 x 16 an instruction
Compile = Callable[[str, int, str], CompileReport]


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    try:
        found = xpu_toolchain()
    except NoToolchainError as error:
        pytest.skip(str(error))
    if found.ocloc is None or B70.arch not in found.ocloc.devices:
        pytest.skip(f"needs an ocloc that knows {B70.arch}: on PATH, or TILEWRIGHT_OCLOC")
    yield open_device("interpreter", sys.executable)
    close_all()


@pytest.fixture(scope="module")
def compiled(device: Device, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    cache = ReportCache(tmp_path_factory.mktemp("reports"))

    def compile_gemm(kernel: str, warps: int, registers: str) -> CompileReport:
        wanted = launch(kernel, num_warps=warps, grf_mode=registers)
        return compile_launch(device, str(KERNELS), wanted, B70, cache=cache)

    return compile_gemm


def launch(kernel: str, **options: int | str) -> LaunchFacts:
    """Row-major matrices of fp16 with contiguous rows."""
    tensors = (("a_ptr", "*fp16"), ("b_ptr", "*fp16"), ("c_ptr", "*fp32"))
    numbers = ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")
    shape, strides = (EXTENT, EXTENT), (EXTENT, 1)
    return LaunchFacts(
        kernel,
        (EXTENT // TILE["BLOCK_M"], EXTENT // TILE["BLOCK_N"]),
        (
            *(ArgumentFacts(n, "tensor", t, None, shape, strides, True) for n, t in tensors),
            *(ArgumentFacts(n, "int", "i32", EXTENT, divisible_by_16=True) for n in numbers),
            *(ArgumentFacts(n, "constexpr", "constexpr", size) for n, size in TILE.items()),
        ),
        options,
    )


def accesses(report: CompileReport, space: str) -> Counter[str]:
    """How many instructions access a space, by kind."""
    found: Counter[str] = Counter()
    for line in report.lines:
        for access in line.accesses:
            if access.space == space:
                found[access.kind] += access.count
    return found


def line_of(text: str) -> int:
    """The first line of the kernels' file with a text."""
    lines = KERNELS.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.mark.parametrize("warps", [4, 8])
def test_few_warps_spill_from_a_small_register_file(compiled: Compile, warps: int) -> None:
    report = compiled("with_pointers", warps, "small")
    assert report.ok
    assert report.registers == 128
    assert report.spill_bytes
    assert report.spill_bytes > 8000
    assert "spilled around" in str(report.details["spill_message"])
    assert sum(line.spill_loads + line.spill_stores for line in report.lines) > 100


def test_more_warps_spill_less_and_32_with_the_large_one_not_at_all(compiled: Compile) -> None:
    spilled = [compiled("with_pointers", warps, "small").spill_bytes or 0 for warps in (4, 8, 16)]
    assert spilled == sorted(spilled, reverse=True)
    report = compiled("with_pointers", 32, "large")
    assert (report.registers, report.spill_bytes) == (256, 0)
    assert not any(line.spill_loads or line.spill_stores for line in report.lines)


def test_pointers_load_word_by_word_through_shared_memory(compiled: Compile) -> None:
    report = compiled("with_pointers", 32, "large")
    found = accesses(report, "global")
    assert found["load"]
    assert not found["block2d_load"]
    assert accesses(report, "shared")["load"]
    lines = {line.line: line for line in report.lines}
    assert {a.kind for a in lines[line_of("a = tl.load(a_ptr")].accesses} >= {"load"}


@pytest.mark.parametrize("warps", [8, 32])
def test_block_pointers_become_2d_block_loads(compiled: Compile, warps: int) -> None:
    report = compiled("with_block_pointers", warps, "large")
    assert report.spill_bytes == 0
    found = accesses(report, "global")
    assert set(found) == {"block2d_load", "block2d_store"}
    assert not accesses(report, "shared")
    (stored,) = [line for line in report.lines if any("store" in a.kind for a in line.accesses)]
    assert stored.line == line_of("tl.store(c_tile")


@pytest.mark.parametrize("kernel", ["with_pointers", "with_block_pointers"])
def test_the_product_becomes_dpas_on_its_line(compiled: Compile, kernel: str) -> None:
    report = compiled(kernel, 32, "large")
    (product,) = [line for line in report.lines if line.tensor]
    assert dict(product.tensor) == {"dpas": DPAS_A_PROGRAM // 32}
    assert product.dots == 1
    source = KERNELS.read_text().splitlines()
    assert "tl.dot" in source[product.line - 1]
