"""Files with tests below: what is under test, and the cases that recorded calls become."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tilewright.devices.model import JobOutcome, JobStatus
from tilewright.evaluation.recorded_calls import with_calls
from tilewright.problems.loading import find_problem
from tilewright.problems.model import ProblemError
from tilewright.problems.tests_below import above_tests, parts_of

ROW = "#" * 146
KERNEL = """\
import triton

@triton.jit
def add_kernel(x, y):
    pass

def add(x, y, alpha=1.0):
    add_kernel[(1,)](x, y)
"""
TESTS = "def test_add():\n    add(1, 2)\n\nresult = test_add()\n"
TEXT = f"{KERNEL}\n\n{ROW}\n\n{TESTS}"


def _tensor(name: str, **contents: Any) -> dict[str, Any]:
    told: dict[str, Any] = {"name": name, "dtype": "float32", "shape": [4, 8], "strides": [8, 1]}
    return {**told, "contents": contents or None}


def _call(function: str, *inputs: dict[str, Any], failure: str = "") -> dict[str, Any]:
    arguments = {"args": [{"input": one["name"]} for one in inputs], "kwargs": {}}
    told = {"function": function, "arguments": arguments, "inputs": list(inputs)}
    return {**told, "failure": failure, "programs": 4}


def _tested(path: Path, calls: list[dict[str, Any]], failure: str = "") -> Any:
    problem = find_problem(path)
    assert problem is not None
    asked: list[dict[str, Any]] = []

    def run(job: dict[str, Any], timeout_s: float) -> JobOutcome:
        asked.append(job)
        return JobOutcome(JobStatus.OK, {"calls": calls, "failure": failure}, "")

    bench: Any = SimpleNamespace(
        place=lambda text: path, entry={}, inputs_from=str(path),
        run=run,
        device=SimpleNamespace(info=SimpleNamespace(id="interpreter")),
    )  # fmt: skip
    made = with_calls(problem, bench, path.read_text())
    assert (asked[0]["above"], asked[0]["line"]) == (parts_of(TEXT).above, 10)  # type: ignore[union-attr]
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "add.py"
    path.write_text(TEXT)
    return path


def test_tests_are_no_part_of_what_is_judged(file: Path) -> None:
    assert above_tests(TEXT).rstrip() == KERNEL.rstrip()
    assert above_tests(KERNEL) == KERNEL
    problem = find_problem(file)
    assert problem is not None
    assert (problem.has_tests, problem.entry.name, dict(problem.cases)) == (True, "add", {})


@pytest.mark.parametrize(
    "text", [KERNEL, f"{KERNEL}\n{ROW}\n# nothing\n", f"def f():\n    pass\n{ROW}\n{TESTS}"]
)
def test_other_files_have_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.py").write_text(text)
    assert find_problem(tmp_path / "k.py") is None


def test_each_different_call_is_a_case(file: Path) -> None:
    whole = _tensor("x", low=-2.0, high=2.0, mean=0.0, std=1.0)
    positive = _tensor("y", low=0.0, high=1.0, mean=0.5, std=0.3)
    turned = {**_tensor("x"), "strides": [1, 4]}
    index = {**_tensor("i", low=0, high=5, values=[0, 5]), "dtype": "int64"}
    index |= {"shape": [2], "strides": [1]}
    calls = [
        _call("add", whole, positive),
        _call("add", whole, positive),
        _call("add", turned, {"name": "alpha", "value": 2.0}),
        _call("pick", index),
        _call("add", {**whole, "shape": [0, 8]}, positive),
        _call("broken", failure="its argument f is a function"),
    ]
    problem = _tested(file, calls, "ValueError: later")
    cases = problem.check_cases()
    assert {case.name for case in cases} == {"ci[0] pick", "ci[1] add", "ci[2] add"}
    x, y = next(case for case in cases if case.inputs[-1].name == "y").inputs
    assert (x.low, x.high, x.strides) == (None, None, None)
    assert (y.low, y.high) == (0.0, 1.0)
    other = next(case for case in cases if case.inputs[-1].value == 2.0)
    assert other.inputs[0].strides == (1, 4)
    picked = next(case for case in cases if case.call.function == "pick")
    assert (picked.inputs[0].values, picked.inputs[0].high) == ((0, 5), 6)
    assert json.loads(picked.call.arguments)["args"] == [{"input": "i"}]
    told = " ".join(problem.warnings)
    assert "broken: its argument f is a function; it is left out" in told
    assert "the tests ended early: ValueError: later" in told


def test_a_helper_that_launches_nothing_is_no_case(file: Path) -> None:
    helper = {**_call("reference", _tensor("x")), "programs": 0}
    (case,) = _tested(file, [helper, _call("add", _tensor("x"))]).check_cases()
    assert case.call.function == "add"


def test_tests_that_call_nothing_name_the_way_out(file: Path) -> None:
    with pytest.raises(ProblemError, match="call no function of the part above") as caught:
        _tested(file, [])
    assert caught.value.line == 11
