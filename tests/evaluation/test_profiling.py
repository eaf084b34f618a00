"""A file's profile, with a device whose answers are written down; compilers are real."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.model import Device, DeviceInfo, JobOutcome, JobStatus
from tilewright.devices.opening import open_device
from tilewright.evaluation.correctness import check_correctness
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.profiling import run as profiling
from tilewright.targets.model import Target

pytestmark = pytest.mark.triton

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum"'
COUNTERS = f'{HEAD}\n"","","ns","byte","byte"\n"0","softmax_kernel","250000","750e6","270e6"\n'


class Scripted:
    """Compiles as the interpreter's worker does; what a GPU would say stands in ``answers``."""

    info = DeviceInfo("cuda:0", "NVIDIA H200", Target("cuda", "90"), True, "2.11", "3.6", "3.12")

    def __init__(self, compiler: Device, **answers: JobOutcome) -> None:
        self.compiler, self.answers = compiler, answers
        self.asked: list[str] = []

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        self.asked.append(job["kind"])
        known = self.answers.get(job["kind"])
        return known or self.compiler.run(job, timeout_s)

    def close(self) -> None:
        """Nothing of its own."""


@pytest.fixture(scope="module")
def compiler() -> Iterator[Device]:
    device = open_device("interpreter")
    yield device
    device.close()


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Correctness is another test's."""
    skipped = StepResult(StepName.CORRECTNESS, StepStatus.SKIPPED, "not asked")
    monkeypatch.setattr(profiling, "check_correctness", lambda *_: skipped)


def ran(*kernels: tuple[str, float], host_us: float = 20.0, call_us: float = 255.0) -> JobOutcome:
    """A ``profile`` job's answer: the device ran these, in microseconds."""
    launches = [
        {
            "kernel": "softmax_kernel", "grid": [8192], "options": {},
            "arguments": [
                tensor("x_ptr"), tensor("y_ptr"), number("n_cols"), number("stride_x"),
                number("stride_y"),
                {"name": "BLOCK", "kind": "constexpr", "type": "constexpr", "value": 1024},
            ],
        }
    ]  # fmt: skip
    value = {
        "us": [250.0 + at % 3 for at in range(30)], "device_name": "NVIDIA H200",
        "launches": launches, "host_us": host_us, "call_us": call_us,
        "activity": {
            "kernels": [{"name": name, "count": 1.0, "us": us} for name, us in kernels],
            "busy_us": sum(us for _, us in kernels), "note": None,
        },
    }  # fmt: skip
    return JobOutcome(JobStatus.OK, value)


def tensor(name: str) -> dict[str, Any]:
    return {
        "name": name, "kind": "tensor", "type": "*fp32", "shape": [8192, 8192],
        "strides": [8192, 1], "divisible_by_16": True,
    }  # fmt: skip


def number(name: str) -> dict[str, Any]:
    return {"name": name, "kind": "int", "type": "i32", "value": 8192, "divisible_by_16": True}


def counted(text: str) -> JobOutcome:
    return JobOutcome(
        JobStatus.OK, {"version": "2025.3.1", "code": 0, "files": {"counters.csv": text}}
    )


def profiled(device: Scripted, folder: Path, *, counters: bool = True) -> dict[str, Any]:
    path = EXAMPLES / "softmax.py"
    problem = load_problem(EXAMPLES / "softmax.yaml", path)
    bench = Workbench(device, problem, path, folder, 7)
    return profiling.profile_source(
        path.read_text(), str(path), bench, device.info.target, lambda *_: None, counters=counters
    )


def test_time_counters_and_source_come_together(compiler: Device, tmp_path: Path) -> None:
    device = Scripted(compiler, profile=ran(("softmax_kernel", 251.0)), counters=counted(COUNTERS))
    value = profiled(device, tmp_path)
    (kernel,) = value["kernels"]
    assert (value["schema"], value["chip"], value["call"]) == (1, "cuda:90", None)
    assert kernel["bottleneck"] == "memory"
    assert kernel["time"]["median_us"] == pytest.approx(251.0)
    first, second = kernel["findings"][:2]
    assert first["text"].startswith("memory-bound: 4.06 TB/s of 4.8 TB/s (85 %, by counters)")
    assert second["text"].startswith("moves 1.9x the least traffic: 1.02 GB where the launch")
    facts = {fact["name"]: fact for fact in kernel["facts"]}
    assert facts["bytes.moved"]["source"] == "counter"
    assert facts["counter.time"]["note"] == "ncu 2025.3.1"
    assert facts["registers.compiled"]["value"] > 0
    assert facts["bytes.spec"]["value"] == facts["bytes.touched"]["value"]


def test_without_a_profiler_it_says_so_and_goes_on(compiler: Device, tmp_path: Path) -> None:
    absent = JobOutcome(JobStatus.ERROR, {}, "there is no ncu on the device's host")
    device = Scripted(compiler, profile=ran(("softmax_kernel", 251.0)), counters=absent)
    value = profiled(device, tmp_path)
    assert "no counters: there is no ncu on the device's host" in value["notes"]
    (kernel,) = value["kernels"]
    assert "at least, by the bytes its accesses touch" in kernel["findings"][0]["text"]


def test_counters_that_nobody_wants_are_not_read(compiler: Device, tmp_path: Path) -> None:
    device = Scripted(compiler, profile=ran(("softmax_kernel", 251.0)))
    value = profiled(device, tmp_path, counters=False)
    assert "counters" not in device.asked
    assert value["notes"] == []


def test_a_call_that_is_more_than_its_kernel_is_told_apart(
    compiler: Device, tmp_path: Path
) -> None:
    activity = ran(("softmax_kernel", 150.0), ("void at::native::copy_kernel", 100.0))
    value = profiled(Scripted(compiler, profile=activity), tmp_path, counters=False)
    (kernel,) = value["kernels"]
    facts = {fact["name"]: fact for fact in kernel["facts"]}
    assert (facts["time"]["value"], facts["time"]["source"]) == (150.0, "trace")
    texts = [finding["text"] for finding in value["call"]["findings"]]
    assert any("40 % is not of this file's Triton kernels" in text for text in texts)


def test_a_launch_that_fails_leaves_the_compilers_word(compiler: Device, tmp_path: Path) -> None:
    crashed = JobOutcome(JobStatus.CRASHED, {}, "was ended by SIGSEGV")
    value = profiled(Scripted(compiler, profile=crashed), tmp_path)
    (kernel,) = value["kernels"]
    assert kernel["time"] is None
    assert "time not measured: crashed: was ended by SIGSEGV" in kernel["notes"]
    assert kernel["findings"][0]["text"].startswith("not measured; estimated for cuda:90")
    assert not any(finding["measured"] for finding in kernel["findings"])


def test_what_a_spec_does_not_ask_is_a_note_and_no_wrong_result(
    compiler: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [
        {"name": "ci[0]", "oracle": "reference softmax"},
        {"name": "ci[0], transposed inputs", "oracle": "original", "note": "the original disagrees",
         "skipped": "the candidate is not checked here: the original disagrees: 3 differ"},
    ]  # fmt: skip
    passed = StepResult(StepName.CORRECTNESS, StepStatus.PASSED, data={"checks": checks})
    monkeypatch.setattr(profiling, "check_correctness", lambda *_: passed)
    device = Scripted(compiler, profile=ran(("softmax_kernel", 251.0)))
    (kernel,) = profiled(device, tmp_path, counters=False)["kernels"]
    assert kernel["correct"] is True
    assert kernel["notes"] == [
        "it fails on inputs that its spec does not require: ci[0], transposed inputs "
        "(the original disagrees: 3 differ)"
    ]


@pytest.mark.parametrize(
    ("changed", "correct", "why"),
    [
        (("    y = torch.empty", "    assert x.is_meta, 'no such device'\n    y = torch.empty"),
         None, "ci[0]: the original itself fails: AssertionError: no such device"),
        (("/ row_sum", "* row_sum"), False, "the original disagrees with softmax: output: "),
    ],
)  # fmt: skip
def test_what_did_not_run_is_not_wrong(
    compiler: Device,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: tuple[str, str],
    correct: bool | None,
    why: str,
) -> None:
    monkeypatch.setattr(profiling, "check_correctness", check_correctness)
    path = tmp_path / "softmax.py"
    text = (EXAMPLES / "softmax.py").read_text()
    assert text.count(changed[0]) == 1
    path.write_text(text.replace(*changed))
    for name in ("softmax.yaml", "references.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    bench = Workbench(compiler, load_problem(tmp_path / "softmax.yaml"), path, tmp_path / "s", 7)
    value = profiling.profile_source(path.read_text(), str(path), bench, None, lambda *_: None)
    (kernel,) = value["kernels"]
    assert kernel["correct"] is correct
    assert why in kernel["correct_why"]


def test_a_reference_that_does_not_run_finds_nothing_wrong(
    compiler: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = "reference softmax: ModuleNotFoundError: No module named 'flash'"
    passed = StepResult(
        StepName.CORRECTNESS,
        StepStatus.PASSED,
        data={"checks": [{"name": "ci[0]", "oracle": "original", "note": failed}]},
    )
    monkeypatch.setattr(profiling, "check_correctness", lambda *_: passed)
    device = Scripted(compiler, profile=ran(("softmax_kernel", 251.0)))
    (kernel,) = profiled(device, tmp_path, counters=False)["kernels"]
    assert (kernel["correct"], kernel["correct_why"]) == (None, failed)
