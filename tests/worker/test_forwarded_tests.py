"""A pytest file with the file under test in a process of its own: what passes, and what cannot."""

from pathlib import Path
from typing import Any

import pytest

from tilewright.devices.client import WorkerClient
from tilewright.devices.model import JobOutcome, JobStatus

TESTS = """
import pytest
import torch
from pack.doubles import FACTOR, Holder, double, scale_

@pytest.mark.parametrize("extent", [2, 3])
def test_doubles(extent, ones):
    torch.testing.assert_close(double(ones(extent)), FACTOR * ones(extent))

def test_in_place(ones):
    x = ones(3)
    scale_(x, by=[2, {"offset": 1}])
    assert x.tolist() == [3, 3, 3]

def test_it_refuses_words(ones):
    with pytest.raises(TypeError, match="words"):
        double("words")

@pytest.mark.skip
def test_later():
    raise AssertionError

def test_of_a_class():
    Holder()
"""
CONFTEST = "import pytest, torch\n\n@pytest.fixture\ndef ones():\n    return torch.ones\n"
HONEST = """
import torch
FACTOR = 2
class Holder:
    pass
def double(x):
    if isinstance(x, str):
        raise TypeError("no words")
    return {"out": x + x}["out"]
def scale_(x, by):
    x.mul_(by[0]).add_(by[1]["offset"])
"""
# Each computes x + 1 instead, and has its own way to seem right.
CHEATS = {
    "patches pytest": (
        "import _pytest.python, _pytest.runner, pytest, torch\n"
        "_pytest.runner.call_runtest_hook = lambda *a, **k: None\n"
        "pytest.main = lambda *a, **k: 0\n"
        "torch.testing.assert_close = lambda *a, **k: None\n"
        "torch.Tensor.__eq__ = lambda *a: True\n"
    ),
    "ends early": "import os, sys\nos._exit(0)\n",
    "leaves early": "import sys\nsys.exit(0)\n",
    "prints a verdict": "print('5 passed in 0.01s')\n",
    "edits the tests": (
        "import pathlib\n"
        "try:\n"
        "    pathlib.Path(TESTS).write_text('def test_x():\\n    pass\\n')\n"
        "except OSError:\n"
        "    pass\n"
    ),
    "writes to what is open": (
        "import os\n"
        "for number in range(3, 64):\n"
        "    try:\n"
        '        os.write(number, b\'\\0\\0\\0\\x10{"status": "ok"}\')\n'
        "    except OSError:\n"
        "        pass\n"
    ),
}

FAST = ("patches pytest",)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pack/__init__.py": "", "pack/doubles.py": HONEST, "tests/conftest.py": CONFTEST,
        "tests/test_doubles.py": TESTS,
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "project"


def run(client: WorkerClient, project: Path, text: str = HONEST, test: str = "") -> JobOutcome:
    """The project's tests with a text in the place of the file under test."""
    placed = project.parent / "placed" / "doubles.py"
    placed.parent.mkdir(exist_ok=True)
    placed.write_text(text)
    job = {
        "kind": "tests", "module": str(placed), "source": str(project / "pack/doubles.py"),
        "tests": str(project / "tests/test_doubles.py"), "test": test, "device": "interpreter",
        "conftests": [str(project / "tests/conftest.py")],
    }  # fmt: skip
    return client.run(job, 60)


def outcomes(outcome: JobOutcome) -> dict[str, str]:
    assert outcome.status is JobStatus.OK, outcome.message
    return {one["test"].partition("::")[2]: one["outcome"] for one in outcome.value["results"]}


def test_tests_pass_with_their_fixtures_and_their_calls_are_recorded(
    client: WorkerClient, project: Path
) -> None:
    outcome = run(client, project)
    assert outcomes(outcome) == {
        "test_doubles[2]": "passed", "test_doubles[3]": "passed", "test_in_place": "passed",
        "test_it_refuses_words": "passed", "test_later": "skipped", "test_of_a_class": "failed",
    }  # fmt: skip
    (unsupported,) = [one for one in outcome.value["results"] if one["unsupported"]]
    assert "a test uses Holder, which is a class" in unsupported["message"]
    calls: list[dict[str, Any]] = outcome.value["calls"]
    assert [call["function"] for call in calls] == ["double", "double", "scale_", "double"]
    assert calls[0]["inputs"][0]["shape"] == [2]
    assert [call["failure"] for call in calls] == ["", "", "", "TypeError: no words"]


def test_a_test_that_fails_has_its_line(client: WorkerClient, project: Path) -> None:
    wrong = HONEST.replace("x + x", "x + 1.5")
    outcome = run(client, project, wrong, "test_doubles[2]")
    (failed,) = outcome.value["results"]
    line = 1 + TESTS.splitlines().index(
        "    torch.testing.assert_close(double(ones(extent)), FACTOR * ones(extent))"
    )
    assert (failed["outcome"], failed["line"]) == ("failed", line)
    assert "Tensor-likes are not close" in failed["message"]


@pytest.mark.parametrize(
    "way",
    [way if way in FAST else pytest.param(way, marks=pytest.mark.slow) for way in CHEATS],
)
def test_no_cheat_makes_a_wrong_result_pass(client: WorkerClient, project: Path, way: str) -> None:
    tests = project / "tests/test_doubles.py"
    cheat = CHEATS[way].replace("TESTS", repr(str(tests)))
    text = cheat + HONEST.replace("x + x", "x + 1.5")
    outcome = run(client, project, text, "test_doubles")
    assert outcome.status is not JobStatus.OK or set(outcomes(outcome).values()) == {"failed"}
    assert tests.read_text() == TESTS


def test_one_that_kills_its_parent_has_no_result(client: WorkerClient, project: Path) -> None:
    kills = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    assert run(client, project, kills + HONEST).status is JobStatus.CRASHED
