"""What else may be done about a check that a candidate does not stand: a fact that the spec could
state, a setting of the project."""

from collections.abc import Mapping, Sequence
from typing import Any

from tilewright.problems.model import RAGGED
from tilewright.problems.permissions import FIXED_SHAPES, permitting

_FACTS = {
    "offset": "align: 16",
    "strided": "contiguous: true",
    "transposed": "contiguous: true",
    "nonfinite": "finite: true",
}


def way_out(fault: str, checks: Sequence[Mapping[str, Any]]) -> str:
    """What else may be done about a fault of a candidate's last check; empty where that was an
    ordinary one, or the fault is another's."""
    check = checks[-1] if checks else {}
    if not fault.startswith(str(check.get("name"))):
        return ""
    unusual = (str(check.get(name)) for name in ("layout", "values"))
    facts = [_FACTS[one] for one in unusual if one in _FACTS]
    is_ragged = f"-{RAGGED}[" in str(check.get("case"))
    told = f"; if inputs are never so, state `{'`, `'.join(facts)}` in the spec" if facts else ""
    if is_ragged:
        told += "; if extents are always multiples of a number, state `multiples` in the spec"
        told += permitting((FIXED_SHAPES,))
    return told
