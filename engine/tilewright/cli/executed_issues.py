"""Issues from running a file's host functions on drafted inputs, for ``check --executed``."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tilewright.analysis.model import Issue
from tilewright.checking import Checked
from tilewright.checking.configuration import Rules
from tilewright.cli.compile_issues import has_triton_kernels
from tilewright.cli.output import ERR, working
from tilewright.cli.session import device_for
from tilewright.devices.model import INTERPRETER
from tilewright.errors import TilewrightError
from tilewright.evaluation.workbench import place_source
from tilewright.executed.issues import executed_issues, import_issue
from tilewright.executed.jobs import NotImportedError, all_tried
from tilewright.executed.search import Tried
from tilewright.scratch import scratch_folder


def with_executed(checked: Checked, path: Path, rules: Rules) -> Checked:
    """A checked file with what running it shows; what cannot be run is said and left out."""
    module = checked.module
    if not has_triton_kernels(checked, path, "run"):
        return checked
    try:
        with working(f"running {path}"), scratch_folder() as scratch:
            placed = place_source(path, module.text, scratch / "executed")
            with device_for(INTERPRETER, None) as device:
                found = all_tried(module, str(placed), device)
    except NotImportedError as error:
        new = import_issue(module, error.error)
        if not new:
            ERR.print(f"{path}: not run: {error}")
        return checked.with_issues(_unknown(new, checked), rules)
    except TilewrightError as error:
        ERR.print(f"{path}: not run: {error}")
        return checked
    _say_rest(path, found)
    return checked.with_issues(_unknown(executed_issues(module, found), checked), rules)


def _unknown(new: Sequence[Issue], checked: Checked) -> Iterator[Issue]:
    """Those that the text does not show already."""
    known = {(issue.id, issue.range.line) for issue in checked.issues}
    return (issue for issue in new if (issue.id, issue.range.line) not in known)


def _say_rest(path: Path, found: Sequence[Tried]) -> None:
    for one in found:
        if one.call is None:
            ERR.print(f"{path}: {one.function}: not run: {one.why}")
    if not found:
        ERR.print(f"{path}: not run: no function of it launches a kernel")
