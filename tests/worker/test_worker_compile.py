"""Capturing launches without a device, and compiling them for chips that are not here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from worker_bench import KERNELS, Bench, case_of, function, tensor

from tilewright.devices.model import JobStatus
from tilewright.targets.line_report import READ, digest

pytestmark = pytest.mark.triton

LARGE = case_of(tensor("a", 4096, 4096, dtype="float16"), tensor("b", 4096, 4096, dtype="float16"))


def captured(
    bench: Bench, file: str | Path = "matmul.py", name: str = "matmul",
    case: dict[str, Any] = LARGE, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    return bench.get("capture", module=str(KERNELS / file), entry=function(name), case=case, **more)


def compiled(
    bench: Bench, file: str | Path, target: str, launch: dict[str, Any] | None = None
) -> dict[str, Any]:
    path = str(KERNELS / file)
    launch = launch or captured(bench, file)["launches"][0]
    backend, _, arch = target.partition(":")
    report = bench.get(
        "compile", module=path, launch=launch, target={"backend": backend, "arch": arch},
        emit=list(READ[backend]),
    )  # fmt: skip
    texts = report["artifacts"]
    report.setdefault("details", {}).update(digest(backend, texts, path).mix if texts else {})
    return report


def line_of(path: Path, text: str) -> int:
    return next(at for at, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_a_launch_at_full_size_is_captured_without_memory(bench: Bench) -> None:
    value = captured(bench)
    assert value["mode"] == "fake"
    (launch,) = value["launches"]
    facts = {fact["name"]: fact for fact in launch["arguments"]}
    assert launch["kernel"] == "matmul_kernel"
    assert launch["grid"] == [128, 128]
    assert launch["options"] == {"num_warps": 4, "num_stages": 3}
    assert facts["a_ptr"]["type"] == "*fp16"
    assert facts["a_ptr"]["shape"] == [4096, 4096]
    assert facts["a_ptr"]["divisible_by_16"]
    assert (facts["stride_ak"]["type"], facts["stride_ak"]["value"]) == ("i32", 1)
    assert (facts["K"]["value"], facts["K"]["divisible_by_16"]) == (4096, True)
    assert (facts["BLOCK_K"]["kind"], facts["BLOCK_K"]["value"]) == ("constexpr", 32)


def test_each_configuration_of_an_autotuned_kernel_is_captured(bench: Bench) -> None:
    value = captured(bench, "rows.py", "softmax", case_of(tensor("x", 8192, 1000)))
    assert value["config_index"] == [0, 1, 2, 3]
    assert [launch["grid"] for launch in value["launches"]] == [[8192], [8192], [4096], [4096]]
    assert [launch["options"]["num_warps"] for launch in value["launches"]] == [2, 4, 2, 4]
    facts = {fact["name"]: fact for fact in value["launches"][0]["arguments"]}
    assert facts["BLOCK"]["value"] == 1024
    assert facts["scale"]["type"] == "fp32"


def test_host_code_that_reads_data_falls_back_to_real_tensors(bench: Bench) -> None:
    case = case_of(tensor("x", 100, transforms=["abs"]))
    value = captured(bench, "rows.py", "depends_on_data", case)
    assert value["mode"] == "cpu"
    assert "fake tensors did not do" in value["notes"][0]
    assert len(value["launches"]) == 1


def test_real_tensors_are_not_made_at_any_size(bench: Bench) -> None:
    outcome = bench.ask(
        "capture", module=str(KERNELS / "rows.py"), entry=function("depends_on_data"),
        case=case_of(tensor("x", 1 << 28)),
    )  # fmt: skip
    assert outcome.status is JobStatus.ERROR
    assert "1024 MiB" in outcome.message
    assert "name a smaller case" in outcome.message


def test_an_assumed_device_property_is_said(bench: Bench) -> None:
    value = captured(bench, "rows.py", "asks_the_device", case_of(tensor("x", 100)))
    assert value["launches"][0]["grid"] == [132]
    assert "132 multiprocessors were assumed" in value["notes"][0]


def test_a_misaligned_view_is_not_divisible(bench: Bench) -> None:
    value = captured(bench, "rows.py", "misaligned", case_of(tensor("x", 100)))
    assert not value["launches"][0]["arguments"][0]["divisible_by_16"]


@pytest.mark.parametrize(
    ("target", "detail"),
    [("cuda:90", "wgmma"), ("cuda:100", "tcgen05_mma"), ("hip:gfx942", "mfma")],
)
def test_figures_of_chips_that_are_not_here(bench: Bench, target: str, detail: str) -> None:
    path = bench.variant("matmul.py", "32, 32, 32, 4, 3", "128, 128, 64, 8, 3")
    report = compiled(bench, path, target)
    assert report["ok"], report["messages"]
    assert 32 < report["registers"] <= 512
    assert report["spill_bytes"] == 0
    assert 0 < report["shared_bytes"] <= report["shared_limit"]
    assert report["code_bytes"] > 1000
    assert report["details"][detail] > 0
    assert "triton" in report["toolchain"]


def test_amd_stores_and_barriers_are_counted(bench: Bench) -> None:
    path = bench.variant("matmul.py", "32, 32, 32, 4, 3", "128, 128, 64, 8, 3")
    old, new = (compiled(bench, path, f"hip:{arch}")["details"] for arch in ("gfx942", "gfx1201"))
    assert old["global_store_64b"] == 8
    assert new["global_store_128b"] == 8
    assert old["barrier"] == new["barrier"] == 3  # gfx1201 signals, then waits


def test_stages_texts_are_handed_back_and_what_has_none_says_why(bench: Bench) -> None:
    launch = captured(bench)["launches"][0]
    report = bench.get(
        "compile", module=str(KERNELS / "matmul.py"), launch=launch, emit=["ptx", "sass", "spirv"],
        target={"backend": "cuda", "arch": "90"},
    )  # fmt: skip
    assert set(report["artifacts"]) == {"ptx", "sass"}
    assert f'//## File "{KERNELS / "matmul.py"}", line' in report["artifacts"]["sass"]
    assert report["missing"] == {"spirv": "this compiler does not pass it"}
    assert report["details"]["warps"] == 4


def test_spills_are_counted(bench: Bench) -> None:
    path = bench.variant("matmul.py", "32, 32, 32, 4, 3", "128, 128, 32, 2, 1")
    report = compiled(bench, path, "cuda:80")
    details = report["details"]
    assert details["stack_bytes"] > 0
    assert report["spill_bytes"] == details["spill_store_bytes"] + details["spill_load_bytes"] > 0


def test_too_much_shared_memory_is_an_error_with_the_way_out(bench: Bench) -> None:
    path = bench.variant("matmul.py", "32, 32, 32, 4, 3", "128, 256, 128, 8, 4")
    report = compiled(bench, path, "cuda:90")
    assert not report["ok"]
    text = report["messages"][0]["text"]
    assert f"needs {report['shared_bytes']} bytes of shared memory, cuda:90 allows 232448" in text
    assert "smaller tiles or fewer num_stages" in text


def test_a_stride_known_to_be_one_widens_the_loads(bench: Bench) -> None:
    launch = captured(bench)["launches"][0]
    wide = compiled(bench, "matmul.py", "cuda:90", launch)["details"]
    for fact in launch["arguments"]:
        if fact["name"].startswith("stride"):
            fact.update(value=7, divisible_by_16=False)
    narrow = compiled(bench, "matmul.py", "cuda:90", launch)["details"]
    assert wide.get("async_copy", 0) > 0
    assert narrow.get("global_load_128b", 0) == 0
    assert narrow["global_load_16b"] > 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, c_ptrs, acc)", "c_ptrs is not defined"),
        ("acc = tl.dot(a, b, acc)", "acc = tl.dot(a, a, acc)", ""),
        ("acc = tl.dot(a, b, acc)", "acc = tl.dto(a, b, acc)", "no attribute 'dto'"),
    ],
)
def test_a_compile_error_is_on_the_users_line(bench: Bench, old: str, new: str, words: str) -> None:
    path = bench.variant("matmul.py", old, new)
    launch = captured(bench, path)["launches"][0]
    if "a, a" in new:
        next(f for f in launch["arguments"] if f["name"] == "BLOCK_K")["value"] = 64
    report = compiled(bench, path, "cuda:90", launch)
    assert not report["ok"]
    assert report["messages"][0]["line"] == line_of(path, new)
    assert words in report["messages"][0]["text"]


def test_an_error_in_a_helper_is_on_the_helpers_line(bench: Bench) -> None:
    path = bench.variant("rows.py", "return x - by", "return x - nothing")
    case = case_of(tensor("x", 64, 64))
    launch = captured(bench, path, "softmax", case)["launches"][0]
    report = compiled(bench, path, "hip:gfx942", launch)
    assert report["messages"][0]["line"] == line_of(path, "return x - nothing")


def test_a_target_without_a_toolchain_is_a_job_error(bench: Bench) -> None:
    launch = captured(bench)["launches"][0]
    outcome = bench.ask(
        "compile", module=str(KERNELS / "matmul.py"), launch=launch,
        target={"backend": "xpu", "arch": "bmg-g31"},
    )  # fmt: skip
    assert outcome.status is JobStatus.ERROR
    assert outcome.message.startswith("no toolchain for xpu")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matmul.py", "rows.py"])
def test_measuring_compiles_ahead_without_a_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Every configuration ends up in Triton's cache, as one cubin each."""
    script = f"""
import sys, torch
from tilewright.worker.jobs import measure
from tilewright.worker.loading import entry_point
case = {LARGE if name == "matmul.py" else case_of(tensor("x", 64, 1000))!r}
entry = {{"kind": "function", "name": {"matmul" if name == "matmul.py" else "softmax"!r}}}
notes = []
module = entry_point.load_module({str(KERNELS / name)!r})
measure.compile_ahead({{"entry": entry, "case": case}}, module, ("cuda", "90"), notes)
assert not notes, notes
"""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)
    assert len(list((tmp_path / "cache").rglob("*.cubin"))) == (1 if name == "matmul.py" else 4)


def test_host_code_may_ask_tritons_driver_for_its_device(bench: Bench) -> None:
    path = bench.variant(
        "rows.py",
        "def forgets_to_store(x):\n    return torch.empty_like(x)",
        "DEVICE = triton.runtime.driver.active.get_active_torch_device()\n\n\n"
        "def forgets_to_store(x):\n"
        "    utils = triton.runtime.driver.active.utils\n"
        '    sms = utils.get_device_properties(0)["multiprocessor_count"]\n'
        "    y = torch.zeros(x.shape, device=DEVICE)\n"
        "    increment_kernel[(sms,)](y, y.numel(), BLOCK=128)\n"
        "    return y",
    )
    case = case_of(tensor("x", 100))
    value = captured(bench, path, "forgets_to_store", case)
    assert value["launches"][0]["grid"] == [132]
    ran = bench.ran(path, "forgets_to_store", case)
    assert ran["launches"] == {"increment_kernel": 1}
