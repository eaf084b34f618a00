"""Host code that only compares a result with what is expected, and is no work of the program."""

import ast

from tilewright.analysis.host_graph.model import HostGraph, HostValue, Use, UseKind
from tilewright.analysis.host_graph.operations import OPERATORS, REDUCTIONS, short

_EXPECTED = frozenset(
    {"ref", "refs", "reference", "expected", "golden", "gold", "gt", "baseline", "want", "truth"}
)
_MAGNITUDES = frozenset({"abs", "norm", "pow", "square", "Pow"})
_GREATEST = frozenset({"max", "amax"})
_VERDICTS = frozenset({"allclose", "isclose", "equal", "any", "all"})
_DEPTH = 6


def is_comparison(graph: HostGraph, use: Use) -> bool:
    """Whether an operation on a result has a reference next to it, or ends in a verdict.

    ``(out - expected).abs().max()``, ``torch.allclose(out, other)``: nothing is to be computed so.
    """
    if use.kind is not UseKind.OPERATION or use.result is None:
        return False
    return _has_reference(use) or _ends_in_verdict(graph, use.result, is_magnitude=False)


def _has_reference(use: Use) -> bool:
    """Whether another operand is named as what is expected."""
    names = (n.id for n in ast.walk(use.node) if isinstance(n, ast.Name))
    return any(not _EXPECTED.isdisjoint(name.lower().split("_")) for name in names)


def _ends_in_verdict(
    graph: HostGraph, value: HostValue, is_magnitude: bool, depth: int = 0
) -> bool:
    """Whether all that becomes of a value is one number: its greatest magnitude, or a verdict."""
    name = short(value.operation)
    if is_magnitude and name in _GREATEST:
        return True
    if name in _VERDICTS:
        return True
    is_step = name in _MAGNITUDES or name in OPERATORS or name in REDUCTIONS
    uses = graph.data_uses(value)
    if depth > _DEPTH or not uses or not is_step:
        return False
    return all(
        use.kind is UseKind.OPERATION
        and use.result is not None
        and _ends_in_verdict(graph, use.result, is_magnitude or name in _MAGNITUDES, depth + 1)
        for use in uses
    )
