"""A pytest file as a problem: what a spec may name, and what is said of one that cannot be used."""

from pathlib import Path

import pytest

from tilewright.problems.loading import find_problem, load_problem
from tilewright.problems.model import ProblemError

KERNEL = "import triton\n@triton.jit\ndef k(x):\n    pass\ndef host(x):\n    k[(1,)](x)\n"
TESTS = (
    "import pytest\n\ndef test_a():\n    pass\n\n"
    "class TestB:\n    def test_c(self):\n        pass\n"
)
SPEC = "problem: {pytest: tests/test_kernel.py}\n"
INPUTS = (
    "entry: host\ninputs:\n  X: {shape: [N], dtype: float32}\n"
    "ci:\n  - {params: [X], dims: {N: 4}}\n"
)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_kernel.py").write_text(TESTS)
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "kernel.yaml").write_text(SPEC)
    return tmp_path / "kernel.py"


def test_a_spec_names_a_file_of_tests(kernel: Path) -> None:
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.pytest is not None
    assert problem.pytest.path == str(kernel.parent / "tests/test_kernel.py")
    assert (problem.pytest.test, problem.pytest.conftests) == ("", ())
    assert (problem.entry.name, problem.cases) == ("host", {})


@pytest.mark.parametrize(("test", "line"), [("test_a", 3), ("TestB::test_c", 7), ("test_a[1]", 3)])
def test_a_spec_names_one_test(kernel: Path, test: str, line: int) -> None:
    kernel.with_suffix(".yaml").write_text(f'problem: {{pytest: "tests/test_kernel.py::{test}"}}\n')
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.pytest is not None
    assert (problem.pytest.test, problem.pytest.line) == (test, line)


def test_classes_of_unittest_have_tests_whatever_their_name(kernel: Path) -> None:
    tests = kernel.parent / "tests/test_kernel.py"
    text = "import unittest\n\nclass KernelTest(unittest.TestCase):\n    def test_d(self): ...\n"
    tests.write_text(text)
    spec = SPEC.replace("test_kernel.py", "test_kernel.py::KernelTest::test_d")
    kernel.with_suffix(".yaml").write_text(spec.replace("tests/", '"tests/').replace("}", '"}'))
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.pytest is not None
    assert problem.pytest.line == 4
    tests.write_text(text.replace("unittest.TestCase", "object"))
    with pytest.raises(ProblemError, match="has no test"):
        find_problem(kernel)


@pytest.mark.parametrize(
    ("text", "test", "line"),
    [
        ("async def test_a():\n    pass\n", "test_a", 1),
        ("import sys\nif sys.argv:\n    def test_a(): ...\n", "test_a", 3),
        ("try:\n    import x\nexcept ImportError:\n    def test_a(): ...\n", "test_a", 4),
        ("class Base:\n    def test_a(self): ...\nclass TestB(Base): ...\n", "TestB::test_a", 2),
        (
            "from unittest import TestCase\nclass Base(TestCase): ...\n"
            "class Kernels(Base):\n    async def test_a(self): ...\n",
            "Kernels::test_a",
            4,
        ),
    ],
)
def test_a_test_may_be_async_conditional_or_inherited(
    kernel: Path, text: str, test: str, line: int
) -> None:
    (kernel.parent / "tests/test_kernel.py").write_text(text)
    kernel.with_suffix(".yaml").write_text(f'problem: {{pytest: "tests/test_kernel.py::{test}"}}\n')
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.pytest is not None
    assert problem.pytest.line == line


def test_a_function_inside_another_is_no_test(kernel: Path) -> None:
    (kernel.parent / "tests/test_kernel.py").write_text("def f():\n    def test_a(): ...\n")
    with pytest.raises(ProblemError, match="has no test"):
        find_problem(kernel)


def test_with_inputs_the_tests_are_asked_in_addition(kernel: Path) -> None:
    kernel.with_suffix(".yaml").write_text(SPEC + INPUTS)
    problem = find_problem(kernel)
    assert problem is not None
    assert problem.pytest is not None
    assert [case.name for case in problem.check_cases()] == ["ci[0]"]


def test_another_test_or_fixture_is_another_problem(kernel: Path) -> None:
    first = load_problem(kernel.with_suffix(".yaml")).content_hash
    (kernel.parent / "pyproject.toml").touch()
    (kernel.parent / "conftest.py").write_text("import pytest\n")
    second = load_problem(kernel.with_suffix(".yaml"))
    assert second.pytest is not None
    assert second.pytest.conftests == (str(kernel.parent / "conftest.py"),)
    (kernel.parent / "tests/test_kernel.py").write_text(TESTS + "\n")
    third = load_problem(kernel.with_suffix(".yaml")).content_hash
    assert len({first, second.content_hash, third}) == 3


@pytest.mark.parametrize(
    ("spec", "line", "words"),
    [
        ("name: x\nproblem:\n  pytest: gone.py\n", 3, "there is no file of tests .*gone.py"),
        (
            "problem:\n  pytest: tests/test_kernel.py::test_b\n",
            2,
            r"no test 'test_b'; it has test_a",
        ),
        ("problem:\n  pytest: kernel.py\n", 2, "has no test; a test is a function"),
        ("problem:\n  unittest: x.py\n", 2, "unknown key 'unittest' in 'problem'"),
        ("problem: {}\n", 1, "'problem' needs 'pytest'"),
        ("problem: {pytest: broken.py}\n", 1, r"broken.py:2 is not Python"),
        (SPEC + "entry: host\n", 2, "'entry' has no effect if the tests give the calls"),
    ],
)
def test_what_cannot_be_used_has_its_line(kernel: Path, spec: str, line: int, words: str) -> None:
    (kernel.parent / "broken.py").write_text("x = 1\ndef test_a(:\n")
    kernel.with_suffix(".yaml").write_text(spec)
    with pytest.raises(ProblemError, match=words) as raised:
        find_problem(kernel)
    assert (raised.value.path, raised.value.line) == (str(kernel.with_suffix(".yaml")), line)
