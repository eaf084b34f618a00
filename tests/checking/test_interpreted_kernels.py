"""What a check makes of kernels that a file beside them runs in an interpreter."""

from pathlib import Path

import pytest

from tilewright.analysis.model import AnalysisContext
from tilewright.checking import check_text
from tilewright.checking.configuration import default_configuration
from tilewright.checking.interpreted_kernels import with_interpreted

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
    rules = default_configuration().rules_for(tmp_path / "steps.py")
    files = [
        check_text(text, str(tmp_path / name), rules, AnalysisContext())
        for name, text in texts.items()
    ]
    found = [i.severity for file in with_interpreted(files) for i in file.issues]
    assert found == [severity]
