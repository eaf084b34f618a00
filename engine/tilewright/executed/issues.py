"""Issues from what drafted calls showed: one of a kind and line, with the call that shows it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.analysis.model import Issue
from tilewright.analysis.suppression import visible_issues
from tilewright.executed.observations import Sighting, Wrong, described
from tilewright.executed.search import Tried
from tilewright.knowledge.base import taxonomy
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Module
from tilewright.source.text import Range
from tilewright.worker.messages.drafted import RunError

ISSUE_IDS = {
    Wrong.LAUNCH: "launch_arguments",
    Wrong.NAME: "undefined_name",
    Wrong.BROADCAST: "broadcast_mismatch",
    Wrong.OUTSIDE_READ: "missing_boundary_check",
    Wrong.OUTSIDE_WRITE: "missing_boundary_check",
    Wrong.RACE: "race_on_store",
    Wrong.EARLY: "uninitialized_read",
    Wrong.UNWRITTEN: "output_not_fully_written",
    Wrong.NOT_FINITE: "undefined_other",
    Wrong.LANES: "undefined_other",
    Wrong.TILES: "neutral_element",
    Wrong.LAYOUT: "stride_of_other_tensor",
    Wrong.REFERENCE: "result_of_other_operator",
    Wrong.REVIEW: "result_of_other_operator",
    Wrong.LOST_TIME: "lost_time",
}
_CERTAIN = (Wrong.LAUNCH, Wrong.NAME)
"""What no other inputs would change."""
_COMPARED = (Wrong.REFERENCE, Wrong.REVIEW)
"""What is wrong with a whole result, wherever it is shown."""
_AT_ODD = "; with powers of two around that extent nothing is wrong"


def executed_issues(module: Module, tried: Sequence[Tried]) -> tuple[Issue, ...]:
    """The issues that calls of a module's functions show, by position.

    What depends on the inputs is advice: a draft may break a precondition that the file does not
    state. What only an odd extent shows says so.
    """
    found: dict[tuple[str, int], Issue] = {}
    for one in tried:
        for issue in _of_function(module, one):
            found.setdefault((issue.id, issue.range.line), issue)
    ordered = sorted(found.values(), key=lambda issue: (issue.range, issue.id, issue.message))
    return visible_issues(module, ordered)


_AT_IMPORT = (
    (re.compile(r"unexpected keyword argument"), "removed_api"),
    (re.compile(r"key contains names that are not kernel arguments"), "autotune_unknown_name"),
)


def import_issue(module: Module, error: RunError) -> tuple[Issue, ...]:
    """The issue that an error of importing the file is, where the installed Triton refuses what
    the file says at its top; others may be of the environment."""
    line = error["line"]
    for words, name in _AT_IMPORT:
        if line is not None and words.search(error["text"]):
            kind = taxonomy()[name]
            text = f"Importing the file fails with the installed Triton: {error['text']}."
            where = _whole_line(module, line)
            found = Issue(kind.id, kind.stage, kind.severity, text, None, where)
            return visible_issues(module, [replace(found, data={"tier": "executed"})])
    return ()


def _of_function(module: Module, tried: Tried) -> Iterator[Issue]:
    for sighting in _ordered(tried.sightings):
        kind = taxonomy()[ISSUE_IDS[sighting.fault.kind]]
        where, kernel = _place(module, tried.function, sighting)
        text = (
            f"In Triton's interpreter, not on a GPU, {tried.function} with "
            f"{described(sighting.call)}: {sighting.fault.text}"
        )
        is_whole = not sighting.fault.line or sighting.fault.kind in _COMPARED
        text += "" if sighting.is_ordinary or sighting.fault.kind in _COMPARED else _AT_ODD
        yield Issue(
            id=kind.id,
            stage=kind.stage,
            severity=kind.severity if sighting.fault.kind in _CERTAIN else ADVICE,
            message=f"{text}.",
            kernel=kernel.name if kernel is not None else None,
            range=where,
            data={"tier": "executed", "place": "kernel" if is_whole else "line"},
        )


def _ordered(sightings: Iterable[Sighting]) -> list[Sighting]:
    """What ordinary calls show first."""
    return sorted(sightings, key=lambda one: not one.is_ordinary)


def _place(module: Module, function: str, sighting: Sighting) -> tuple[Range, Kernel | None]:
    """The line of a fault; without one, where the function launches a kernel first."""
    line = sighting.fault.line
    if line:
        kernel = module.kernel_at(line)
        return _whole_line(module, line), kernel
    owner = function.removesuffix(".apply")
    names = (function, f"{owner}.forward")
    launch = next((one for one in module.launches if one.host_function in names), None)
    if launch is None:
        launch = module.launches[0]
    kernel = module.kernel(launch.kernel)
    return (kernel.name_range if kernel is not None else launch.range), kernel


def _whole_line(module: Module, line: int) -> Range:
    text = module.text.splitlines()[line - 1]
    return Range(line, len(text) - len(text.lstrip()), line, len(text))
