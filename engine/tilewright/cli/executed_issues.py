"""Issues from running a file's host functions on drafted inputs, for ``check --executed``."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tilewright.analysis.model import Issue
from tilewright.checking import Checked
from tilewright.checking.checked import NOTEBOOK
from tilewright.checking.configuration import Rules
from tilewright.cli.output import ERR, working
from tilewright.cli.session import device_for
from tilewright.devices.model import INTERPRETER
from tilewright.errors import TilewrightError
from tilewright.evaluation.workbench import place_source
from tilewright.executed.issues import executed_issues, import_issue
from tilewright.executed.jobs import NotImportedError, all_tried
from tilewright.executed.search import Tried
from tilewright.scratch import scratch_folder
from tilewright.source.model import Language


def with_executed(checked: Checked, path: Path, rules: Rules, far: str = "") -> Checked:
    """A checked file with what running it shows; what cannot be run is said and left out.

    ``far`` is how far the whole check is, for who watches a terminal.
    """
    module = checked.module
    if not any(kernel.language is Language.TRITON for kernel in module.kernels):
        return checked
    if path.suffix == NOTEBOOK:
        ERR.print(f"{path}: not run: a notebook's kernels are only checked", markup=False)
        return checked
    try:
        with working(f"running {path}{far}"), scratch_folder() as scratch:
            placed = place_source(path, module.text, scratch / "executed")
            with device_for(INTERPRETER, None) as device:
                found = all_tried(module, str(placed), device)
    except NotImportedError as error:
        new = import_issue(module, error.error)
        if not new:
            ERR.print(f"{path}: not run: {error}", markup=False)
        return _with(checked, new, rules)
    except TilewrightError as error:
        ERR.print(f"{path}: not run: {error}", markup=False)
        return checked
    _say_rest(path, found)
    return _with(checked, executed_issues(module, found), rules)


def _with(checked: Checked, new: Sequence[Issue], rules: Rules) -> Checked:
    """With the issues that the project wants to hear of, but for those that the text shows."""
    known = {(issue.id, issue.range.line) for issue in checked.issues}
    more = (i for i in new if i.id in rules.issues and (i.id, i.range.line) not in known)
    merged = sorted((*checked.issues, *more), key=lambda i: (i.range, i.id, i.message))
    return replace(checked, issues=tuple(merged))


def _say_rest(path: Path, found: Sequence[Tried]) -> None:
    for one in found:
        if one.call is None:
            ERR.print(f"{path}: {one.function}: not run: {one.why}", markup=False)
    if not found:
        ERR.print(f"{path}: not run: no function of it launches a kernel", markup=False)
