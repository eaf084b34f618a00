"""What a check of a folder makes of kernels that nothing in the project mentions."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.checking import check_text
from tilewright.checking.configuration import default_configuration
from tilewright.checking.unused_kernels import with_unused

_STEPS = """
import triton
import triton.language as tl

@triton.jit
def skipped(x_ptr, n):
    for i in range(n):
        if i == 3:
            continue
        tl.store(x_ptr + i, 0.0)

@triton.jit
def outer(x_ptr, n):
    skipped(x_ptr, n)
"""
_LAUNCHED = _STEPS + "\ndef host(x):\n    outer[(1,)](x, 3)\n"


_OTHER = """
@triton.jit
def other(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)

def ones(x):
    other[(1,)](x, B=16)
"""


def _severities(root: Path, paths: Sequence[Path]) -> list[int]:
    file = root / "package" / "steps.py"
    rules = default_configuration().rules_for(file)
    checked = check_text(file.read_text(), str(file), rules, AnalysisContext())
    (after,) = with_unused([checked], paths)
    return [i.severity for i in after.issues if i.id == "unsupported_syntax"]


@pytest.fixture(name="project")
def _project(tmp_path: Path) -> Path:
    (tmp_path / "package").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "package" / "steps.py").write_text(_STEPS)
    return tmp_path


_PRIVATE = """
def _launch(x):
    outer[(1,)](x, 3)
"""


def test_a_kernel_that_no_file_mentions_is_no_certain_fault(project: Path) -> None:
    assert _severities(project, [project]) == [2]


def test_a_kernel_beside_one_that_is_launched_is_looked_for_too(project: Path) -> None:
    steps = project / "package" / "steps.py"
    steps.write_text(_STEPS + _OTHER)
    assert _severities(project, [steps]) == [3]
    assert _severities(project, [project]) == [2]
    (project / "host.py").write_text("from package.steps import outer\n\nouter[(1,)]")
    assert _severities(project, [project]) == [3]


def test_a_file_alone_does_not_say_what_is_used(project: Path) -> None:
    assert _severities(project, [project / "package" / "steps.py"]) == [5]


@pytest.mark.parametrize(
    "text",
    [
        "from package.steps import skipped\n\nKERNELS = [skipped]",
        "import package.steps as s\n\ndef host(x):\n    s.outer[(1,)](x, 3)",
        "from package.steps import *",
    ],
)
def test_a_mention_anywhere_in_the_project_counts(project: Path, text: str) -> None:
    (project / "host.py").write_text(text)
    assert _severities(project, [project / "package"]) == [5]


def test_the_same_definition_in_another_file_is_no_mention(project: Path) -> None:
    (project / "copy.py").write_text("def skipped(x_ptr, n):\n    pass\n")
    assert _severities(project, [project]) == [2]


def test_a_launch_in_the_file_itself_is_a_use(project: Path) -> None:
    (project / "package" / "steps.py").write_text(_LAUNCHED)
    assert _severities(project, [project]) == [5]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("from package.steps import skipped\n", 2),
        ("from package.steps import (\n    outer,\n    skipped,\n)\n", 2),
        ("from package.steps import skipped\n\ndef run(x):\n    skipped[(1,)](x, 3)\n", 5),
        ("from package.steps import skipped as step\n\ndef run(x):\n    step[(1,)](x, 3)\n", 5),
    ],
)
def test_an_import_alone_is_no_use(project: Path, text: str, severity: int) -> None:
    (project / "package" / "other.py").write_text(text)
    assert _severities(project, [project]) == [severity]


def test_a_package_hands_on_what_it_imports(project: Path) -> None:
    (project / "package" / "__init__.py").write_text("from package.steps import skipped\n")
    assert _severities(project, [project]) == [5]


@pytest.mark.parametrize(
    ("host", "severity"),
    [
        (_PRIVATE, 2),
        (f"{_PRIVATE}\ndef _run(x):\n    _launch(x)\n", 2),
        (f"{_PRIVATE}\ndef run(x):\n    _launch(x)\n", 5),
        (f"{_PRIVATE}\nTABLE = [_launch]\n", 5),
        (_PRIVATE.replace("def", "@register\ndef"), 5),
    ],
)
def test_a_private_function_that_nothing_calls_is_no_use(
    project: Path, host: str, severity: int
) -> None:
    (project / "package" / "steps.py").write_text(_STEPS + host)
    assert _severities(project, [project]) == [severity]


def test_another_file_may_call_a_private_function(project: Path) -> None:
    (project / "package" / "steps.py").write_text(_STEPS + _PRIVATE)
    text = "from package import steps\n\ndef run(x):\n    steps._launch(x)\n"
    (project / "package" / "other.py").write_text(text)
    assert _severities(project, [project]) == [5]


@pytest.mark.parametrize(("fused", "severity"), [("False", 2), ("True", 5), ("asked()", 5)])
def test_a_call_that_a_constant_rules_out_is_no_use(
    project: Path, fused: str, severity: int
) -> None:
    called = f"\nFUSED = {fused}\n\ndef host(x):\n    if FUSED and x.is_cuda:\n        _launch(x)\n"
    (project / "package" / "steps.py").write_text(_STEPS + _PRIVATE + called)
    assert _severities(project, [project]) == [severity]
