"""What the outcome of a pytest file says of a candidate, with what the original did known."""

from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.evaluation import pytest_run
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.problems.model import PytestFile

PASSED = StepResult(StepName.CORRECTNESS, StepStatus.PASSED, "", data={})


def result(test: str, outcome: str = "passed", message: str = "") -> dict[str, Any]:
    return {
        "test": f"test_it.py::{test}", "outcome": outcome, "line": 3, "message": message,
        "unsupported": bool(message),
    }  # fmt: skip


def judged(*results: dict[str, Any]) -> StepResult:
    """A candidate with these results, where the original passes ``test_one`` and ``test_two``."""
    asked = PytestFile("/p/test_it.py", passed=("test_it.py::test_one", "test_it.py::test_two"))
    outcome: JobOutcome[Any] = JobOutcome(JobStatus.OK, {"results": results, "printed": ""})
    bench: Any = SimpleNamespace(
        problem=SimpleNamespace(pytest=asked), entry={}, place=lambda text: "m.py",
        source_path=SimpleNamespace(resolve=lambda: "/p/it.py"),
        device=SimpleNamespace(info=SimpleNamespace(id="cuda:0")),
        run=lambda job, timeout_s: outcome,
    )  # fmt: skip
    return pytest_run.tests_step(bench, "", PASSED)


def test_each_test_that_passes_with_the_original_has_to_pass() -> None:
    step = judged(result("test_one"), result("test_two"))
    assert (step.status, step.data["tests"]["passed"]) == (StepStatus.PASSED, 2)
    other = "NotForwardedError: a test uses Other, which is a class"
    unasked = result("test_of_a_class", "failed", other)
    assert judged(result("test_one"), result("test_two"), unasked).status is StepStatus.PASSED


@pytest.mark.parametrize(
    ("two", "words"),
    [
        ([result("test_two", "failed", "NotForwardedError: a test uses f, which is a class")],
         "a test uses f, which is a class"),
        ([result("test_two", "skipped")], "it is skipped with this file"),
        ([], "it does not run with this file"),
    ],
)  # fmt: skip
def test_a_candidate_cannot_put_a_test_out_of_use(two: list[dict[str, Any]], words: str) -> None:
    step = judged(result("test_one"), *two)
    assert step.status is StepStatus.FAILED
    assert f"test_it.py: test_two passes with the original; {words}" in step.message
