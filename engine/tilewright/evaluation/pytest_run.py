"""Running a problem's pytest file: with the original for its calls, with a candidate as a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.evaluation.model import StepName, StepResult, StepStatus
from tilewright.evaluation.recorded_calls import of_calls
from tilewright.evaluation.workbench import TIMEOUT_S, Workbench, explain
from tilewright.problems.model import Problem, ProblemError, PytestFile
from tilewright.worker.messages import jobs as messages

_SEED = 20_011


@dataclass(frozen=True)
class Tested:
    """What became of the tests.

    Attributes:
        failure: the first failed test with its place, or why there is no result; empty: all passed.
        line: of that failure, where it is known.
        unsupported: tests that use what cannot be forwarded, with the reason.
    """

    passed: int
    skipped: int
    failure: str = ""
    line: int = 0
    unsupported: tuple[str, ...] = ()


def with_tests(problem: Problem, bench: Workbench, text: str) -> Problem:
    """The problem after its tests ran with the original; its cases are their calls if it has none.

    Raises:
        ProblemError: the original does not pass them, or they call nothing that can be replayed.
    """
    tests = problem.pytest
    assert tests is not None
    outcome = _run(bench, tests, text)
    tested = _tested(tests, outcome)
    if tested.failure or not tested.passed:
        failure = tested.failure or "no test ran"
        told = f"the tests must pass with the original before a candidate runs them: {failure}"
        raise ProblemError(told, tests.path, tested.line or tests.line)
    notes = [f"not run with candidates: {one}" for one in tested.unsupported]
    if tested.skipped:
        notes.append(f"{tested.skipped} tests of {Path(tests.path).name} were skipped")
    asked = replace(tests, passed=tuple(_with_outcome(outcome.value["results"], "passed")))
    problem = replace(problem, pytest=asked, warnings=(*problem.warnings, *notes))
    if problem.cases:
        return problem
    return of_calls(problem, outcome.value["calls"], "", tests.line)


def tests_step(bench: Workbench, text: str, checked: StepResult) -> StepResult:
    """The step of correctness with the tests asked as well; those of a candidate that failed
    before are not run."""
    tests = bench.problem.pytest
    if tests is None or checked.status is not StepStatus.PASSED:
        return checked
    tested = _tested(tests, _run(bench, tests, text))
    name = Path(tests.path).name
    data = {**checked.data, "tests": {"file": name, "passed": tested.passed}}
    if tested.failure:
        told = f"it fails the tests of the problem: {tested.failure}"
        return StepResult(StepName.CORRECTNESS, StepStatus.FAILED, told, data=data)
    return replace(checked, data=data)


def _run(bench: Workbench, tests: PytestFile, text: str) -> JobOutcome[messages.Tested]:
    job: messages.TestsJob = {
        "kind": "tests", "module": str(bench.place(text)), "entry": bench.entry,
        "tests": tests.path, "test": tests.test, "conftests": list(tests.conftests),
        "source": str(bench.source_path.resolve()), "device": bench.device.info.id, "seed": _SEED,
    }  # fmt: skip
    return bench.run(job, TIMEOUT_S)


def _tested(tests: PytestFile, outcome: JobOutcome[messages.Tested]) -> Tested:
    """What an outcome of the job says; what has no result has failed."""
    name = Path(tests.path).name
    if outcome.status is not JobStatus.OK:
        return Tested(0, 0, f"{name} gave no result: {explain(outcome)}")
    results = outcome.value["results"]
    passed = _with_outcome(results, "passed")
    failed = [one for one in results if one["outcome"] == "failed"]
    unsupported = tuple(
        f"{one['test'].rpartition('::')[2]}: {one['message'].partition(': ')[2]}"
        for one in failed
        if one["unsupported"]
    )
    wrong = next((one for one in failed if not one["unsupported"]), None)
    skipped = len(_with_outcome(results, "skipped"))
    found = Tested(len(passed), skipped, unsupported=unsupported)
    if wrong is not None:
        where = f"{name}:{wrong['line']}" if wrong["line"] else name
        told = f"{where}: {wrong['test'].rpartition('::')[2]}: {wrong['message']}"
        return replace(found, failure=told, line=wrong["line"])
    if not passed:
        why = unsupported[0] if unsupported else outcome.value["printed"].strip()[-300:]
        return replace(found, failure=f"no test of {name} passed: {why or 'none ran'}")
    missing = next((test for test in tests.passed if test not in passed), None)
    if missing is not None:
        return replace(found, failure=f"{name}: {_why_not_passed(missing, results)}")
    return found


def _with_outcome(results: Sequence[messages.TestResult], outcome: str) -> list[str]:
    return [one["test"] for one in results if one["outcome"] == outcome]


def _why_not_passed(test: str, results: Sequence[messages.TestResult]) -> str:
    """What became of a test that passed with the original, and neither passed nor failed now."""
    found = next((one for one in results if one["test"] == test), None)
    if found is None:
        became = "it does not run with this file"
    elif found["outcome"] == "skipped":
        became = "it is skipped with this file"
    else:
        became = found["message"].partition(": ")[2]
    return f"{test.rpartition('::')[2]} passes with the original; {became}"
