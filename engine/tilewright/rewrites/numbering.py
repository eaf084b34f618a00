"""Value numbers for straight-line kernel code: which expressions are sure to hold equal values."""

import ast
import copy
from collections.abc import Mapping

from tilewright.rewrites.scope import is_tl_call, targets_of, tl_name
from tilewright.source.model import Module

_EFFECTS = (
    "store",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_xchg",
    "atomic_cas",
    "debug_barrier",
)
ZERO = "zero"
"""The number that stands for a loop index set to zero."""


class ValueNumbers:
    """Numbers the values of names, statement after statement.

    Two expressions with one number hold one value. A load counts the stores seen before it in:
    any store may have changed what it reads.
    """

    def __init__(self, module: Module, fixed: Mapping[str, str] | None = None) -> None:
        self._module = module
        self._fixed = dict(fixed or {})
        self._of_name: dict[str, str] = {}
        self._of_form: dict[str, str] = {}
        self._stores = 0

    def of(self, node: ast.expr) -> str:
        """The number of an expression's value."""
        return _Numbering(self).number(copy.deepcopy(node))

    def of_form(self, form: str, reads_memory: bool) -> str:
        """The number of an operation on numbered values."""
        key = f"{self._stores}:{form}" if reads_memory else form
        return self._of_form.setdefault(key, f"#{len(self._of_form)}")

    def of_name(self, name: str) -> str:
        """The number of a name's present value."""
        return self._fixed.get(name) or self._of_name.setdefault(name, f"{name}#")

    def reads_memory(self, call: ast.Call) -> bool:
        """Whether a call touches memory: anything that is not known to leave it alone."""
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
            return False
        name = tl_name(self._module, call.func)
        return (name is None and not _is_float(call)) or name in ("load", *_EFFECTS)

    def holder(self, number: str, among: list[str]) -> str | None:
        """A name that holds the value of this number now."""
        return next((n for n in among if self._of_name.get(n) == number), None)

    def see(self, statement: ast.stmt) -> None:
        """Take one simple statement into account."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._of_name[name] = self.of(value)
            case _:
                for name in list(targets_of(statement)):
                    self.forget(name)
        calls = (n for n in ast.walk(statement) if isinstance(n, ast.Call))
        if any(self.reads_memory(c) and not is_tl_call(self._module, c, "load") for c in calls):
            self._stores += 1

    def forget(self, name: str) -> None:
        """The name holds something unknown from here on."""
        self._of_name[name] = self.of_form(f"unknown {len(self._of_form)}", reads_memory=False)


class _Numbering(ast.NodeTransformer):
    """Replaces every part of an expression by a name that is its number."""

    def __init__(self, numbers: ValueNumbers) -> None:
        self._numbers = numbers

    def number(self, node: ast.expr) -> str:
        reduced = self.visit(node)
        assert isinstance(reduced, ast.Name)
        return reduced.id

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name):
            return ast.Name(self._numbers.of_name(node.id), ast.Load())
        if not isinstance(node, ast.expr):
            self.generic_visit(node)
            return node
        memory = isinstance(node, ast.Call) and self._numbers.reads_memory(node)
        self.generic_visit(node)
        plain = _without_zero(node)
        if isinstance(plain, ast.Name):
            return plain
        return ast.Name(self._numbers.of_form(ast.dump(plain), memory), ast.Load())


def _without_zero(node: ast.expr) -> ast.expr:
    """``0 + x`` is ``x`` and ``0 * x`` is zero, for the index that is set to zero."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if _is_zero(node.left):
            return node.right
        return node.left if _is_zero(node.right) else node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return node.left if _is_zero(node.left) else node.right if _is_zero(node.right) else node
    return node


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == ZERO


def _is_float(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "float"
