"""What else may be done about a check that a candidate does not stand: a fact that the spec could
state, a setting of the project."""

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.problems.model import RAGGED, Problem
from tilewright.problems.permissions import (
    FINITE,
    FIXED_LAYOUTS,
    FIXED_SHAPES,
    FORWARD_ONLY,
    permitting_all,
)

_FACTS = {
    "offset": "align: 16",
    "strided": "contiguous: true",
    "transposed": "contiguous: true",
    "nonfinite": "finite: true",
}


def way_out(fault: str, checks: Sequence[Mapping[str, Any]], problem: Problem) -> str:
    """What else may be done about a fault of a candidate's last check; empty where that was an
    ordinary one, or the fault is another's."""
    check = checks[-1] if checks else {}
    if not fault.startswith(str(check.get("name"))):
        return ""
    layout, values = str(check.get("layout")), str(check.get("values"))
    facts = [_FACTS[one] for one in (layout, values) if one in _FACTS]
    is_ragged = f"-{RAGGED}[" in str(check.get("case"))
    told = ""
    if _has_spec(problem):
        told = (
            f"; if inputs are never so, state `{'`, `'.join(facts)}` in the spec" if facts else ""
        )
        if is_ragged:
            told += "; if extents are always multiples of a number, state `multiples` in the spec"
    settings = {
        FIXED_LAYOUTS: layout in _FACTS,
        FINITE: values in _FACTS,
        FIXED_SHAPES: is_ragged,
        FORWARD_ONLY: bool(check.get("gradients")),
    }
    return told + permitting_all(name for name, would_do in settings.items() if would_do)


def _has_spec(problem: Problem) -> bool:
    """Whether there is a spec to state facts in: a module that makes its own inputs has none."""
    return not any(one.inputs_from_module for cases in problem.cases.values() for one in cases)
