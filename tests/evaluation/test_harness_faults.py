"""A fault of the harness is told as one: never as a verdict, and with what to report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tilewright
from tilewright.cli.verify import as_json
from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import (
    Evaluation,
    Level,
    StepName,
    StepResult,
    StepStatus,
    text_hash,
)
from tilewright.evaluation.speed import judged
from tilewright.evaluation.workbench import Workbench
from tilewright.knowledge.stages import Stage
from tilewright.problems.model import Case, Entry, EntryKind, Input, Problem
from tilewright.strategies.verdict import decide

INFO = DeviceInfo("interpreter", "Triton interpreter", None, False, "2.13", "3.9.0", "3.11")
TEXT = "import torch\n\n\ndef double(x):\n    return x + x\n"
CASE = Case("ci", 0, {}, "float32", (Input("x", (4,)),))
PROBLEM = Problem(
    "k.yaml", "0" * 64, Entry(EntryKind.FUNCTION, "double"), None, {"ci": (CASE,)}, "ci"
)


class Answers:
    """A device whose every job ends as told."""

    info = INFO

    def __init__(self, outcome: JobOutcome) -> None:
        self._outcome = outcome

    def run(self, job: Mapping[str, Any], timeout_s: float) -> JobOutcome:
        return self._outcome

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "home"))


def evaluated(folder: Path, outcome: JobOutcome) -> Evaluation:
    source = folder / "k.py"
    source.write_text(TEXT)
    bench = Workbench(Answers(outcome), PROBLEM, source, folder, 1)
    return Cascade(TEXT, str(source), bench, None).judge(f"{TEXT}# other\n", TEXT)


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (JobStatus.FAULT, "harness"),
        (JobStatus.CRASHED, "harness"),
        (JobStatus.ERROR, "original"),
        (JobStatus.OUT_OF_MEMORY, "machine"),
        (JobStatus.TIMEOUT, "machine"),
    ],
)
def test_a_trial_that_breaks_off_is_no_verdict(
    tmp_path: Path, status: JobStatus, cause: str
) -> None:
    outcome = JobOutcome(status, {"traceback": "in judge.py"}, "FileNotFoundError: in/1.bin")
    evaluation = evaluated(tmp_path, outcome)
    assert evaluation.level is not Level.REJECTED
    assert evaluation.failed is None
    told = as_json(evaluation, Level.CORRECT)
    assert (told["accepted"], told["failed"]) == (False, None)
    assert told["error"]["cause"] == cause
    assert "in/1.bin" in told["error"]["message"]
    verdict = decide(Stage.MEMORY_ACCESS, evaluation, evaluation, can_time=False)
    assert not verdict.kept
    assert "rejected" not in verdict.reason


def test_a_fault_says_what_to_report(tmp_path: Path) -> None:
    outcome = JobOutcome(JobStatus.FAULT, {"traceback": "in judge.py"}, "KeyError: 'x'")
    error = evaluated(tmp_path, outcome).harness_fault
    assert error is not None
    for said in ("no verdict on the candidate", tilewright.__version__, "interpreter", "KeyError"):
        assert said in error.message
    report = Path(error.data["report"])
    assert str(report) in error.message
    assert "in judge.py" in report.read_text()


def test_a_fault_that_nobody_can_write_down_is_still_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_HOME", str(tmp_path / "file" / "home"))
    error = evaluated(tmp_path, JobOutcome(JobStatus.FAULT, {}, "KeyError: 'x'")).harness_fault
    assert error is not None
    assert "what is printed here" in error.message
    assert error.data["report"] == ""


def test_what_broke_off_after_compiling_is_not_accepted_as_compiled() -> None:
    steps = (
        StepResult(StepName.COMPILE, StepStatus.PASSED),
        StepResult(StepName.CORRECTNESS, StepStatus.ERROR, "broke off", data={"cause": "harness"}),
    )
    evaluation = Evaluation(text_hash("b"), text_hash("a"), Level.COMPILED, steps)
    assert as_json(evaluation, Level.COMPILED)["accepted"] is False


@pytest.mark.parametrize(
    ("failed", "status", "said"),
    [
        ({"of": "original", "status": "error", "message": "gone"}, "error", "timed against"),
        (
            {"of": "candidate", "status": "out_of_memory", "message": "full"},
            "skipped",
            "too little memory",
        ),
        ({"of": "candidate", "status": "crashed", "message": "SIGSEGV"}, "failed", "SIGSEGV"),
    ],
)
def test_a_time_that_could_not_be_had_is_no_wrong_output(
    failed: dict[str, str], status: str, said: str
) -> None:
    found = judged({"case": "ci[0]", "failed": failed, "faults": []}, CASE, INFO, "0", 1)
    assert found.speedup is None
    assert found.step.status == status
    assert said in found.step.message
    assert "wrong" not in found.step.message
