"""Recommended parameters over a spread of shapes: they compile, fit, and do not spill."""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from each import sample

from tilewright.devices.client import WorkerClient, WorkerDevice
from tilewright.devices.discovery import close_all
from tilewright.devices.model import DeviceInfo
from tilewright.hardware.chips import chip
from tilewright.hardware.configs import dot_configs
from tilewright.hardware.model import DotConfig
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import compile_launch
from tilewright.targets.model import ArgumentFacts, CompileReport, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError, xpu_toolchain

pytestmark = pytest.mark.triton
pytest.importorskip("triton")

POINTERS, BLOCKS = "menu_kernel.py", "menu_blocks_kernel.py"
SHAPES = (
    (4096, 4096, 4096),
    (512, 512, 512),
    (8, 4096, 4096),
    (1, 11008, 4096),
    (16384, 64, 64),
    (1000, 1000, 1000),
    (64, 2048, 8192),
    (128, 8192, 1024),
    (20, 77, 300),
)
TYPES = {2: "*fp16", 4: "*fp32"}
Compile = Callable[[Target, str, DotConfig, int], CompileReport]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compile]:
    cache = ReportCache(tmp_path_factory.mktemp("reports"))
    with WorkerClient(sys.executable) as client:
        hello = client.hello
        device = WorkerDevice(
            client, DeviceInfo("interpreter", "", None, False, hello["torch"], hello["triton"], "")
        )

        def compile_one(target: Target, kernel: str, config: DotConfig, size: int) -> CompileReport:
            path = str(Path(__file__).with_name(kernel))
            return compile_launch(device, path, launch(config, size), target, cache=cache)

        yield compile_one
    close_all()


def launch(config: DotConfig, size: int) -> LaunchFacts:
    tensors = ("a_ptr", "b_ptr", "c_ptr")
    integers = ("K", "stride_a", "stride_b", "stride_c")
    tiles = {"BLOCK_M": config.block_m, "BLOCK_N": config.block_n, "BLOCK_K": config.block_k}
    shape, strides = (4096, 4096), (4096, 1)
    arguments = (
        *(ArgumentFacts(n, "tensor", TYPES[size], None, shape, strides, True) for n in tensors),
        *(ArgumentFacts(n, "int", "i32", 4096, divisible_by_16=True) for n in integers),
        *(ArgumentFacts(n, "constexpr", "constexpr", value) for n, value in tiles.items()),
    )
    options: dict[str, int | float | bool | str] = {
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
    }
    if config.register_mode is not None:
        options["grf_mode"] = config.register_mode
    return LaunchFacts("product", (1, 1), arguments, options)


def require_toolchain(target: Target) -> None:
    if target.backend != "xpu":
        return
    try:
        found = xpu_toolchain().ocloc
    except NoToolchainError as error:
        pytest.skip(str(error))
    if found is None or target.arch in found.lacking:
        pytest.skip(f"needs an ocloc that knows {target.arch}")


def check(
    compiled: Compile,
    name: str,
    kernel: str,
    shapes: Sequence[tuple[int, int, int]],
    sizes: tuple[int, ...],
) -> None:
    """The first entry for each shape and element size, each once."""
    backend, _, arch = name.partition(":")
    target = Target(backend, arch)
    require_toolchain(target)
    one, whole = chip(target), kernel == BLOCKS
    entries = {
        (dot_configs(one, *shape, size, limit=1, whole_blocks=whole)[0], size)
        for size in sizes
        for shape in shapes
    }
    for config, size in entries:
        report = compiled(target, kernel, config, size)
        assert report.ok, (config, size, report.messages)
        assert report.shared_bytes is not None
        assert report.shared_bytes <= one.shared_limit, (config, size)
        assert report.spill_bytes == 0, (config, size)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("cuda:90", POINTERS), ("hip:gfx942", POINTERS), ("xpu:bmg-g31", POINTERS)],
)
def test_the_first_entry_for_a_small_shape(compiled: Compile, name: str, kernel: str) -> None:
    check(compiled, name, kernel, ((512, 512, 512),), (2,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("cuda:90", POINTERS),
        ("hip:gfx942", POINTERS),
        ("xpu:bmg-g31", POINTERS),
        ("xpu:bmg-g31", BLOCKS),
    ],
)
def test_the_first_entry_for_many_shapes(compiled: Compile, name: str, kernel: str) -> None:
    check(compiled, name, kernel, sample(SHAPES, 12), (2, 4))
