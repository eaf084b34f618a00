"""The steps of the cascade that run at the same time."""

import threading
from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.model import DeviceInfo, JobOutcome, JobStatus
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Level, StepName, StepStatus
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import find_problem
from tilewright.targets.registry import parse_target

SOURCE = Path(__file__).parents[2] / "examples" / "softmax.py"


class Stub:
    """A device that captures and judges as it is told, each when it is told to."""

    info = DeviceInfo("interpreter", "", None, False, "2.11", "3.6", "3.11")

    def __init__(self, failure: str) -> None:
        self.failure = failure
        self.asked: list[str] = []
        self.trial_begun = threading.Event()
        self.may_end = threading.Event()

    def run(self, job: Any, timeout_s: float) -> JobOutcome[Any]:
        self.asked.append(job["kind"])
        if job["kind"] == "capture":
            assert self.trial_begun.wait(600), "the trial does not wait for the compiler"
            if self.failure:
                return JobOutcome(JobStatus.ERROR, {}, self.failure)
            return JobOutcome(JobStatus.OK, {"launches": [], "notes": []})
        self.trial_begun.set()
        assert self.may_end.wait(600)
        return JobOutcome(JobStatus.OK, {"fault": "it is wrong", "checks": []})

    def close(self) -> None:
        self.may_end.set()


@pytest.fixture
def changed() -> tuple[str, str]:
    text = SOURCE.read_text()
    return text, text.replace("BLOCK=1024", "BLOCK=2048")


def cascade(device: Stub, folder: Path, text: str) -> Cascade:
    bench = Workbench(device, find_problem(SOURCE), SOURCE, folder, 1)
    return Cascade(text, str(SOURCE), bench, parse_target("cuda:90"))


def test_what_does_not_compile_has_its_verdict_before_its_trial_ends(
    tmp_path: Path, changed: tuple[str, str]
) -> None:
    before, after = changed
    device = Stub("the entry point raised ValueError")
    found = cascade(device, tmp_path, before).judge(after, before)
    assert not device.may_end.is_set(), "the trial still goes on"
    device.close()
    assert found.level is Level.REJECTED
    assert found.failed is not None
    assert found.failed.step is StepName.COMPILE
    assert "ValueError" in found.failed.message
    assert sorted(device.asked) == ["capture", "trial"]


def test_the_trial_runs_while_the_compiler_does_and_its_word_counts(
    tmp_path: Path, changed: tuple[str, str]
) -> None:
    before, after = changed
    device = Stub("")
    one = cascade(device, tmp_path, before)
    one.target = None  # nothing is compiled, and the trial is asked all the same
    device.close()
    found = one.judge(after, before)
    assert found.level is Level.REJECTED
    statuses = {step.step: step.status for step in found.steps}
    assert statuses[StepName.COMPILE] is StepStatus.SKIPPED
    assert statuses[StepName.CORRECTNESS] is StepStatus.FAILED
    assert device.asked == ["trial"]
