"""Many launches at once: order, progress, what cannot be judged."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.targets.cache import ReportCache
from tilewright.targets.compilation import COMPILE_SECONDS, compile_many
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target
from tilewright.targets.toolchains import NoToolchainError

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scale_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < N)
    tl.store(y_ptr + offs, x * 2, mask=offs < N)
"""
H100 = Target("cuda", "90")
LAUNCH = LaunchFacts(
    "scale_kernel",
    (1024,),
    (
        ArgumentFacts("x_ptr", "tensor", "*fp16", None, (1 << 20,), (1,), True),
        ArgumentFacts("y_ptr", "tensor", "*fp16", None, (1 << 20,), (1,), True),
        ArgumentFacts("N", "int", "i32", 1 << 20, divisible_by_16=True),
        ArgumentFacts("BLOCK", "constexpr", "constexpr", 1024),
    ),
)


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "scale.py"
    path.write_text(KERNEL)
    return str(path)


def with_block(block: int, warps: int) -> LaunchFacts:
    arguments = (*LAUNCH.arguments[:-1], replace(LAUNCH.arguments[-1], value=block))
    return replace(LAUNCH, arguments=arguments, options={"num_warps": warps})


@pytest.mark.triton
def test_reports_come_in_the_order_asked_for(
    device: WorkerDevice, module: str, tmp_path: Path
) -> None:
    launches = [with_block(block, warps) for block in (256, 1000, 2048) for warps in (2, 8)]
    told: list[tuple[int, int]] = []
    reports = compile_many(
        device,
        [(module, launch, H100) for launch in launches],
        progress=lambda done, of: told.append((done, of)),
        cache=ReportCache(tmp_path / "cache"),
    )
    assert [getattr(report, "launch", None) for report in reports] == launches
    assert [getattr(report, "ok", None) for report in reports] == [
        True, True, False, False, True, True,
    ]  # fmt: skip
    assert told == [(done, 6) for done in range(1, 7)]


@pytest.mark.triton
def test_what_nothing_here_compiles_for_stands_in_its_place(
    device: WorkerDevice, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_XPU_PYTHON", "/nowhere/python")
    intel, nvidia = compile_many(
        device,
        [(module, LAUNCH, Target("xpu", "bmg-g31")), (module, LAUNCH, H100)],
        cache=ReportCache(tmp_path / "cache"),
    )
    assert isinstance(intel, NoToolchainError)
    assert not isinstance(nvidia, NoToolchainError)
    assert nvidia.ok


@pytest.mark.triton
def test_left_early_it_waits_for_no_compiler(
    device: WorkerDevice, module: str, tmp_path: Path
) -> None:
    endless = tmp_path / "endless.py"
    endless.write_text(f"{KERNEL}\nwhile True:\n    pass\n")
    asked = [(module, LAUNCH, H100), (str(endless), LAUNCH, H100)]

    def give_up(done: int, of: int) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compile_many(device, asked, progress=give_up, cache=ReportCache(tmp_path / "cache"))
    assert time.monotonic() - start < COMPILE_SECONDS / 2
    (report,) = compile_many(device, asked[:1], cache=ReportCache(tmp_path / "another"))
    assert not isinstance(report, NoToolchainError)
    assert report.ok, "it can be asked again"


@pytest.mark.triton
def test_an_edit_anywhere_in_the_package_is_a_new_report(
    device: WorkerDevice, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    helper, module = package / "common" / "helper.py", package / "ops" / "scale.py"
    for path in (helper, module):
        path.parent.mkdir(parents=True)
        (path.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    helper.write_text("import triton\n\n@triton.jit\ndef twice(x):\n    return x * 2\n")
    imported = "from ..common.helper import twice\n"
    module.write_text(imported + KERNEL.replace("x * 2", "twice(x)"))
    cache = ReportCache(tmp_path / "cache")

    def compiled() -> tuple[bool, bool]:
        (report,) = compile_many(device, [(str(module), LAUNCH, H100)], cache=cache)
        assert not isinstance(report, NoToolchainError)
        return report.ok, report.cached

    assert (compiled(), compiled()) == ((True, False), (True, True))
    helper.write_text(helper.read_text().replace("x * 2", "x * nothing"))
    assert compiled() == (False, False)
