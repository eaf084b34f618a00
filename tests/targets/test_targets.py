"""Names of targets, and compile reports with their cache."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.client import WorkerDevice
from tilewright.devices.model import DeviceError, JobOutcome, JobStatus
from tilewright.serialize import load
from tilewright.targets.cache import ReportCache, content_key
from tilewright.targets.compilation import compile_launch, compile_stage
from tilewright.targets.model import LaunchFacts, Target, TargetError
from tilewright.targets.registry import all_targets, neuron_targets, parse_target
from tilewright.targets.toolchains import NoToolchainError

KERNEL = """
import torch, triton
import triton.language as tl
from helper import scaled

@triton.jit
def scale_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < N)
    tl.store(y_ptr + offs, scaled(x), mask=offs < N)

def scale(x):
    y = torch.empty_like(x)
    scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
HELPER = "import triton\n\n@triton.jit\ndef scaled(x):\n    return x * 2\n"
CASE = {
    "category": "ci", "index": 0, "dims": {},
    "inputs": [{"name": "x", "shape": [1 << 20], "dtype": "float16"}],
}  # fmt: skip
H100 = Target("cuda", "90")


def test_every_target_is_parsed_back() -> None:
    assert H100 in all_targets()
    assert all(parse_target(str(target)) == target for target in all_targets())
    assert parse_target(" CUDA:90 ") == H100


def test_a_neuron_core_goes_by_its_product_too() -> None:
    assert parse_target("trn2") == parse_target("neuron:trn2") == Target("neuron", "trn2")
    assert {str(target) for target in neuron_targets()}.isdisjoint(map(str, all_targets()))
    with pytest.raises(TargetError, match=r"did you mean .*trn2"):
        parse_target("trn4")


def test_nothing_compiles_for_a_neuron_core_and_that_is_said() -> None:
    device: Any = None
    launch = LaunchFacts("kernel", (1,), ())
    with pytest.raises(NoToolchainError, match="runs no compiler for neuron:trn2"):
        compile_launch(device, "kernel.py", launch, Target("neuron", "trn2"))


def test_an_unknown_target_names_the_nearest() -> None:
    with pytest.raises(TargetError, match=r"did you mean .*hip:gfx942"):
        parse_target("hip:gfx94")


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text(HELPER)
    path = tmp_path / "scale.py"
    path.write_text(KERNEL)
    return path


def launch_of(device: WorkerDevice, module: Path) -> LaunchFacts:
    entry = {"kind": "function", "name": "scale", "path": None}
    outcome = device.run(
        {"kind": "capture", "module": str(module), "entry": entry, "case": CASE}, 60
    )
    return load(LaunchFacts, outcome.value["launches"][0])


@pytest.mark.triton
def test_a_report_comes_from_the_cache_the_second_time(
    device: WorkerDevice, module: Path, tmp_path: Path
) -> None:
    cache = ReportCache(tmp_path / "cache")
    launch = launch_of(device, module)
    first = compile_launch(device, str(module), launch, H100, cache=cache)
    assert first.ok
    assert not first.cached
    assert first.details["global_load_128b"] == 1
    again = compile_launch(device, str(module), launch, H100, cache=cache)
    assert again.cached
    assert (again.registers, again.details) == (first.registers, first.details)


@pytest.mark.parametrize("name", ["TRITON_PTXAS_BLACKWELL_PATH", "DISABLE_LLVM_OPT", "AMDGCN_X"])
def test_another_setting_of_the_compilers_is_another_report(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "kernel.py"
    module.touch()

    def key() -> str:
        return content_key(str(module), ())

    monkeypatch.delenv(name, raising=False)
    before = key()
    monkeypatch.setenv(name, "/another")
    assert key() != before
    monkeypatch.delenv(name)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert key() == before, "where Triton keeps its files changes none of them"


@pytest.mark.triton
def test_a_change_in_a_helper_beside_the_module_is_a_new_report(
    device: WorkerDevice, module: Path, tmp_path: Path
) -> None:
    cache = ReportCache(tmp_path / "cache")
    launch = launch_of(device, module)
    assert compile_launch(device, str(module), launch, H100, cache=cache).ok
    (tmp_path / "helper.py").write_text(HELPER.replace("x * 2", "x * nothing"))
    broken = compile_launch(device, str(module), launch, H100, cache=cache)
    assert not broken.ok
    assert "nothing is not defined" in broken.messages[0].text


@pytest.mark.triton
def test_a_change_in_a_module_far_away_is_a_new_report_and_a_new_text(
    device: WorkerDevice, module: Path, tmp_path: Path
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (tmp_path / "helper.py").rename(far / "helper.py")
    module.write_text(f"import sys\nsys.path.insert(0, {str(far)!r})\n{KERNEL}")
    reports, texts = ReportCache(tmp_path / "reports"), ReportCache(tmp_path / "texts")
    launch = launch_of(device, module)

    def compiled() -> tuple[bool, str]:
        report = compile_launch(device, str(module), launch, H100, cache=reports)
        found = compile_stage(device, str(module), launch, H100, "ttir", cache=texts)
        assert found.text is not None, found.missing
        return "transcendental" in report.details, found.text

    transcendental, text = compiled()
    assert not transcendental
    assert "math.exp" not in text
    assert compiled() == (transcendental, text)
    (far / "helper.py").write_text(
        "import triton\nimport triton.language as tl\n\n"
        "@triton.jit\ndef scaled(x):\n    return tl.exp(x.to(tl.float32)) * 2\n"
    )
    transcendental, text = compiled()
    assert transcendental
    assert "math.exp" in text


@pytest.mark.triton
def test_a_module_that_cannot_be_imported_is_a_report(
    device: WorkerDevice, module: Path, tmp_path: Path
) -> None:
    launch = launch_of(device, module)
    module.write_text(KERNEL + "\ndef broken(:\n")
    report = compile_launch(device, str(module), launch, H100, cache=ReportCache(tmp_path / "c"))
    assert not report.ok
    assert "SyntaxError" in report.messages[0].text


@pytest.mark.triton
@pytest.mark.parametrize(
    ("top", "value", "name"),
    [
        ("import nolib", "nolib.twice(x)", "nolib"),
        ("import nolib", "within(x)", "nolib"),
        ("FACTOR = tl.constexpr(missing)", "x * FACTOR", "FACTOR"),
        ("import nolib", "x * nothing", ""),
        ("FACTOR = tl.constexpr(missing)", "x * nothing", ""),
    ],
)
def test_a_kernel_that_uses_what_could_not_be_imported_is_not_judged(
    device: WorkerDevice, module: Path, tmp_path: Path, top: str, value: str, name: str
) -> None:
    launch = launch_of(device, module)
    within = "\n@triton.jit\ndef within(x):\n    return nolib.twice(x)\n"
    text = KERNEL.replace("scaled(x), mask", f"{value}, mask")
    text = text.replace("def scale(", f"{within}\ndef scale(")
    module.write_text(text.replace("from helper import scaled", top))
    cache = ReportCache(tmp_path / "cache")
    if name:
        with pytest.raises(NoToolchainError, match=f"scale_kernel uses {name}, which"):
            compile_launch(device, str(module), launch, H100, cache=cache)
        return
    report = compile_launch(device, str(module), launch, H100, cache=cache)
    assert not report.ok
    assert "nothing is not defined" in report.messages[0].text


@pytest.mark.triton
def test_no_toolchain_is_not_a_verdict(
    device: WorkerDevice, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TILEWRIGHT_XPU_PYTHON", raising=False)
    launch = launch_of(device, module)
    with pytest.raises(NoToolchainError, match="no toolchain for xpu"):
        compile_launch(
            device, str(module), launch, Target("xpu", "bmg-g31"), cache=ReportCache(tmp_path / "c")
        )


@pytest.mark.triton
def test_a_worker_that_went_away_is_not_a_verdict(
    device: WorkerDevice, module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launch_of(device, module)

    def run(job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        return JobOutcome(JobStatus.LOST, {}, "the worker ended during the job")

    monkeypatch.setattr(device, "run", run)
    with pytest.raises(DeviceError, match="scale_kernel was not compiled for cuda:90"):
        compile_launch(device, str(module), launch, H100, cache=ReportCache(tmp_path / "c"))


def test_the_cache_drops_its_oldest_reports(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path, limit=10)
    for number in range(200):
        cache.put(f"{number:02x}key{number}", {"number": number})
    assert len(list(tmp_path.rglob("*.json"))) <= 10 + 64
    assert cache.get("c7key199") == {"number": 199}
    assert cache.get("00key0") is None


def test_a_damaged_report_is_compiled_again(tmp_path: Path) -> None:
    cache = ReportCache(tmp_path)
    cache.put("abkey", {"ok": True})
    next(tmp_path.rglob("abkey.json")).write_text('{"ok": tr')
    assert cache.get("abkey") is None
