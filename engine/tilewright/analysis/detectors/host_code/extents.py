"""Extents of host tensors as numbers: what allocations state and the problem's spec says."""

import ast

from tilewright.analysis.host_graph import HostGraph, HostValue, Origin
from tilewright.analysis.host_graph.operations import short
from tilewright.analysis.model import AnalysisContext

_TRANSPOSED = ("t", "T", "mT")


class Extents:
    """Shapes of the tensors of one host function, where they are numbers."""

    def __init__(self, function: str, graph: HostGraph, context: AnalysisContext) -> None:
        self._graph = graph
        self._given: dict[str, tuple[int, ...]] = {}
        entry = context.entry
        if entry is not None and function in (entry.function, f"{entry.function}.forward"):
            args = graph.node.args
            names = [a.arg for a in (*args.posonlyargs, *args.args) if a.arg != "self"]
            for name, argument in zip(names, entry.arguments, strict=False):
                if argument.shape is not None:
                    self._given[name] = tuple(argument.shape)

    def shape(self, value: HostValue, depth: int = 0) -> tuple[int, ...] | None:
        """The extents of a tensor."""
        if depth > 20:
            return None
        if value.origin is Origin.PARAMETER:
            return self._given.get(value.operation)
        if value.origin is Origin.ALLOCATED:
            return _stated(value)
        name = short(value.operation)
        if value.origin is Origin.VIEW:
            inner = self.shape(value.sources[0], depth + 1)
            return inner[::-1] if inner and len(inner) == 2 and name in _TRANSPOSED else None
        if value.origin is Origin.COMPUTED and name in ("matmul", "mm", "mv", "MatMult"):
            return _product(*(self.shape(s, depth + 1) for s in value.sources[:2]))
        if value.origin is Origin.COMPUTED and name in ("contiguous", "to", "float", "half"):
            return self.shape(value.sources[0], depth + 1)
        return None

    def costs(self, a: HostValue, b: HostValue, c: HostValue) -> tuple[int, int] | None:
        """Multiplications of ``(ab)c`` and of ``a(bc)``."""
        one, two, three = self.shape(a), self.shape(b), self.shape(c)
        if one is None or two is None or three is None or len(one) != 2 or len(two) != 2:
            return None
        if len(three) not in (1, 2) or one[1] != two[0] or two[1] != three[0]:
            return None
        (m, k), n, p = one, two[1], three[1] if len(three) == 2 else 1
        return m * k * n + m * n * p, k * n * p + m * k * p


def _product(
    one: tuple[int, ...] | None = None, two: tuple[int, ...] | None = None
) -> tuple[int, ...] | None:
    if one is None or two is None or len(one) != 2 or not two or one[1] != two[0]:
        return None
    return (one[0], *two[1:]) if len(two) <= 2 else None


def _stated(value: HostValue) -> tuple[int, ...] | None:
    node = value.node
    if not isinstance(node, ast.Call) or not node.args or value.operation.endswith("_like"):
        return None
    first = node.args[0]
    parts = list(first.elts) if isinstance(first, ast.Tuple | ast.List) else list(node.args)
    if short(value.operation) in ("full", "new_full") and parts == list(node.args):
        return None
    numbers = [p.value for p in parts if isinstance(p, ast.Constant) and type(p.value) is int]
    return tuple(numbers) if len(numbers) == len(parts) else None
