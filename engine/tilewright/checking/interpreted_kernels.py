"""Kernels that another file of their folder runs in an interpreter, which takes more than Triton's
compiler does: what the compiler refuses in them is advice.

A file that names the interpreter itself is known by its own text; so only a check of several files
asks.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import Issue
from tilewright.analysis.severities import NOT_IN_PYTHON
from tilewright.checking.checked import Checked
from tilewright.knowledge.model import ADVICE

_TRACER = "triton_viz"
_IMPORT = re.compile(r"^[ \t]*(?:from\s+\.?(\w+)\s+import|import\s+(\w+))\b", re.MULTILINE)


def with_interpreted(files: Sequence[Checked]) -> list[Checked]:
    """Files with what the compiler refuses as advice where a file beside them, which they import,
    traces kernels in Python."""
    tracing = {
        Path(file.module.path).with_suffix("") for file in files if file.module.lookup.says(_TRACER)
    }
    return [_weighed(file) if _imports(file, tracing) else file for file in files]


def _imports(file: Checked, others: set[Path]) -> bool:
    folder = Path(file.module.path).parent
    return bool(others) and any(
        folder / (one or two) in others for one, two in _IMPORT.findall(file.module.text)
    )


def _weighed(file: Checked) -> Checked:
    return replace(file, issues=tuple(map(_as_advice, file.issues)))


def _as_advice(issue: Issue) -> Issue:
    is_refusal = issue.id in NOT_IN_PYTHON
    return replace(issue, severity=min(issue.severity, ADVICE)) if is_refusal else issue
