"""A pytest file as a problem, through the cascade: candidates that pass it, and that do not."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilewright.devices.opening import open_device
from tilewright.evaluation.cascade import Cascade
from tilewright.evaluation.model import Evaluation, Level, StepName
from tilewright.evaluation.sizing import sized
from tilewright.evaluation.workbench import Workbench
from tilewright.problems.loading import load_problem
from tilewright.problems.model import Problem, ProblemError

pytestmark = [pytest.mark.triton, pytest.mark.slow]
EXAMPLE = Path(__file__).parents[2] / "examples" / "tested"


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Path]:
    shutil.copytree(EXAMPLE, tmp_path / "project")
    return tmp_path / "project/rms_norm.py"


def problem_of(source: Path) -> Problem:
    problem = sized(
        load_problem(source.with_suffix(".yaml")), open_device("interpreter"), source,
        source.read_text(),
    )  # fmt: skip
    assert problem is not None
    return problem


def judged(source: Path, problem: Problem, candidate: str) -> Evaluation:
    scratch = source.parents[1] / "scratch"
    bench = Workbench(open_device("interpreter"), problem, source, scratch, 7)
    original = source.read_text()
    return Cascade(original, str(source), bench, None).judge(candidate, original)


def test_calls_of_the_tests_are_the_cases_and_the_tests_judge_as_well(source: Path) -> None:
    problem = problem_of(source)
    shapes = {case.inputs[0].shape for case in problem.check_cases()}
    assert shapes == {(1, 384), (6, 384), (3, 384)}
    assert problem.entry.name == "rms_norm"

    text = source.read_text()
    right = judged(source, problem, text.replace("BLOCK=256", "BLOCK=128"))
    assert right.level is Level.CORRECT
    correctness = next(step for step in right.steps if step.step is StepName.CORRECTNESS)
    assert correctness.data["tests"] == {"file": "test_rms_norm.py", "passed": 3}

    # Off by less than what results may differ by, and by more than the test allows.
    rough = judged(
        source, problem, text.replace("x * scale * weight", "x * scale * weight * 1.0002")
    )
    assert rough.level is Level.REJECTED
    line = 1 + (EXAMPLE / "test_rms_norm.py").read_text().splitlines().index(
        "    torch.testing.assert_close(rms_norm(x, weight), expected)"
    )
    message = rough.steps[-1].message
    assert f"test_rms_norm.py:{line}: test_rows_are_normalized[1]: AssertionError" in message


def test_tests_that_the_original_fails_judge_nobody(source: Path) -> None:
    tests = source.with_name("test_rms_norm.py")
    text = tests.read_text()
    line = 1 + text.splitlines().index('    x = torch.randn(3, 384, device="cuda")')
    tests.write_text(
        text.replace(
            "    x = torch.randn(3, ", "    assert not weight.numel()\n    x = torch.randn(3, "
        )
    )
    with pytest.raises(ProblemError, match="must pass with the original") as raised:
        problem_of(source)
    assert (raised.value.path, raised.value.line) == (str(tests), line)

    tests.write_text("def test_nothing():\n    pass\n")
    with pytest.raises(ProblemError, match="they call no function"):
        problem_of(source)
