"""What a check says of files whose kernels the Triton of the check does not compile."""

from pathlib import Path

import pytest

from tilewright.analysis.model import AnalysisContext, Issue
from tilewright.checking import check_text
from tilewright.checking.configuration import default_configuration
from tilewright.checking.uncompiled_files import with_uncompiled

_KERNEL = """
import triton
import triton.language as tl
{line}

@triton.jit
def skipped(x_ptr, n):
    for i in range(n):
        if i == 3:
            continue
        tl.store(x_ptr + i, 0.0)

test(skipped)
"""
_ROWS = """
import triton
import triton.language as tl

@triton.jit
def norm(x_ptr, y_ptr, n: tl.constexpr, B: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        total += tl.sum(x * x, 0)
    for start in range(0, n, B):
        x = tl.load(x_ptr + row * n + start + tl.arange(0, B))
        tl.store(y_ptr + row * n + start + tl.arange(0, B), x / total)

def normed(x, y):
    norm[(x.shape[0],)](x, y, 16384, B=2048)
"""
_TRACE = "import triton_viz\n\ndef test(kernel):\n    triton_viz.trace(kernel)[(1,)]()\n"


@pytest.mark.parametrize(
    ("line", "helper", "severity"),
    [
        ("from utils import test", _TRACE, 2),
        ("from .utils import test", _TRACE, 2),
        ("import utils", _TRACE, 2),
        ("from others import test", _TRACE, 5),
        ("from utils import test", "def test(kernel):\n    kernel[(1,)]()\n", 5),
    ],
)
def test_what_a_tracer_runs_is_advice(
    tmp_path: Path, line: str, helper: str, severity: int
) -> None:
    texts = {"steps.py": _KERNEL.format(line=line), "utils.py": helper}
    assert [i.severity for i in _issues(tmp_path, texts)] == [severity]


@pytest.mark.parametrize(("compiler", "severity"), [("code_generator", 2), ("cache", 5)])
def test_what_a_project_with_its_own_compiler_refuses_is_advice(
    tmp_path: Path, compiler: str, severity: int
) -> None:
    texts = {
        "python/triton/language/core.py": "",
        f"python/triton/compiler/{compiler}.py": "",
        "steps.py": _KERNEL.format(line=""),
    }
    assert [i.severity for i in _issues(tmp_path, texts)] == [severity]


@pytest.mark.parametrize(("compiler", "severity"), [("code_generator", 2), ("cache", 5)])
def test_what_a_project_with_its_own_triton_has_is_not_missing(
    tmp_path: Path, compiler: str, severity: int
) -> None:
    names = ("python/triton/language/core.py", f"python/triton/compiler/{compiler}.py")
    kernel = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef polled(x_ptr):\n    "
    texts = {**dict.fromkeys(names, ""), "steps.py": kernel + "tl.atomic_poll(x_ptr, 1)\n"}
    found = _issues(tmp_path, texts, (3, 6))
    assert [(i.id, i.severity) for i in found] == [("api_not_yet_there", severity)]


@pytest.mark.parametrize(("last", "severities"), [("", [4]), ("```", [1])])
def test_nothing_is_slow_in_a_file_that_is_no_python(
    tmp_path: Path, last: str, severities: list[int]
) -> None:
    found = _issues(tmp_path, {"rows.py": f"{_ROWS}\n{last}\n"})
    assert [i.severity for i in found if i.id == "multi_pass_row"] == severities


def _issues(
    root: Path, texts: dict[str, str], triton: tuple[int, int] | None = None
) -> list[Issue]:
    rules = default_configuration().rules_for(root / "steps.py")
    context = AnalysisContext(triton_version=triton)
    files = [check_text(text, str(root / name), rules, context) for name, text in texts.items()]
    return [issue for file in with_uncompiled(files) for issue in file.issues]
