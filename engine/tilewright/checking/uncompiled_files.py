"""Files whose kernels the Triton of the check does not compile, as other files of a project show.

A file may import one of its folder that runs kernels in an interpreter, and a project may hold a
Triton of its own: what the compiler refuses is advice there, and so is what only some versions of
Triton have. A file that is no Python runs nothing: what is slow in it is a hint. A file alone does
not show the first two, and in an editor each key may break a file; so only a check asks.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from tilewright.analysis.model import Issue
from tilewright.analysis.severities import NOT_IN_PYTHON
from tilewright.checking.checked import Checked
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE, HINT

_TRACER = "triton_viz"
_IMPORT = re.compile(r"^[ \t]*(?:from\s+\.?(\w+)\s+import|import\s+(\w+))\b", re.MULTILINE)
_OF_VERSIONS = frozenset({"api_not_yet_there", "removed_api"})
"""What another Triton has; a project that holds one is written for that."""
_COMPILER = ("triton/language/core.py", "triton/compiler/code_generator.py")


def with_uncompiled(files: Sequence[Checked]) -> list[Checked]:
    """Files with issues as severe as what compiles and runs them leaves them."""
    paths = [PurePath(file.module.path).as_posix() for file in files]
    has_compiler = all(any(path.endswith(part) for path in paths) for part in _COMPILER)
    tracing = {
        Path(file.module.path).with_suffix("") for file in files if file.module.lookup.says(_TRACER)
    }
    weighed = [
        _each(file, _refused_here if has_compiler else _refused)
        if has_compiler or _imports(file, tracing)
        else file
        for file in files
    ]
    return [_each(file, _slow) if file.module.problems else file for file in weighed]


def _imports(file: Checked, others: set[Path]) -> bool:
    folder = Path(file.module.path).parent
    return bool(others) and any(
        folder / (one or two) in others for one, two in _IMPORT.findall(file.module.text)
    )


def _each(file: Checked, weigh: Callable[[Issue], Issue]) -> Checked:
    return replace(file, issues=tuple(map(weigh, file.issues)))


def _refused(issue: Issue, ids: Collection[str] = NOT_IN_PYTHON) -> Issue:
    return replace(issue, severity=min(issue.severity, ADVICE)) if issue.id in ids else issue


def _refused_here(issue: Issue) -> Issue:
    return _refused(issue, NOT_IN_PYTHON | _OF_VERSIONS)


def _slow(issue: Issue) -> Issue:
    is_slow = not taxonomy()[issue.id].is_fault
    return replace(issue, severity=min(issue.severity, HINT)) if is_slow else issue
