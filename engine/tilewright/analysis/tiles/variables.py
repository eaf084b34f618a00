"""Python numbers that an assignment makes scalars.

``n = 4`` gives a run-time i32 and ``c = 0.5`` an fp32, which count in type promotion;
``n: tl.constexpr = 4`` and the literal do not.
"""

import ast
from collections.abc import Callable, Iterator
from weakref import WeakMethod

from tilewright.analysis.tiles.arithmetic import tensor_type
from tilewright.analysis.tiles.joins import settled
from tilewright.analysis.tiles.model import Kind, TileFacts
from tilewright.analysis.values import Definition, Flow, Value


class Variables:
    """Which expressions of a kernel go through a plain assignment."""

    def __init__(self, flow: Flow, facts: Callable[[Value], TileFacts]) -> None:
        self._facts = WeakMethod(facts)  # Its object holds this one.
        self._names = frozenset(
            name for name, found in flow.definitions.items() if all(map(_is_plain, found))
        )
        self._flow = flow
        self._operations: dict[Value, ast.BinOp] | None = None

    def seen(self, node: ast.expr, facts: TileFacts) -> TileFacts:
        """Facts of an expression, where the compiler has a scalar instead of a number."""
        if facts.kind is not Kind.CONSTEXPR or not self._is_variable(node):
            return facts
        return _as_scalar(facts)

    def named(self, name: str, facts: TileFacts) -> TileFacts:
        """Facts of a name behind its assignment."""
        return _as_scalar(facts) if name in self._names else facts

    def operands(
        self, value: Value, left: TileFacts, right: TileFacts
    ) -> tuple[TileFacts, TileFacts]:
        """Both sides of an operation, as the compiler has them."""
        if self._operations is None:
            self._operations = {
                v: node for node, v in self._flow.values.items() if isinstance(node, ast.BinOp)
            }
        node = self._operations.get(value)
        if node is None:
            return left, right
        return self.seen(node.left, left), self.seen(node.right, right)

    def _is_variable(self, node: ast.expr) -> bool:
        return bool(self._names) and any(self._names_in(node))

    def _names_in(self, node: ast.AST) -> Iterator[bool]:
        """Whether each name that a number is computed from was assigned; types have none."""
        if isinstance(node, ast.Name):
            yield node.id in self._names and self._is_number(node)
        elif isinstance(node, ast.Call):
            for given in (*node.args, *(k.value for k in node.keywords)):
                yield from self._names_in(given)
        elif not isinstance(node, ast.Attribute):
            for child in ast.iter_child_nodes(node):
                yield from self._names_in(child)

    def _is_number(self, node: ast.Name) -> bool:
        """Whether a name holds a number here, other than the parameter of that name."""
        value = self._flow.values.get(node)
        if value is None or (value.op == "param" and value.detail == node.id):
            return False
        find = self._facts()
        assert find is not None
        facts = find(value)
        return facts.kind is Kind.CONSTEXPR and _as_scalar(facts) is not facts


def _is_plain(definition: Definition) -> bool:
    return isinstance(definition.statement, ast.Assign | ast.AugAssign)


def _as_scalar(facts: TileFacts) -> TileFacts:
    if facts.constant is not None and not isinstance(facts.constant.value, int | float):
        return facts
    return settled(facts, tensor_type(facts))
