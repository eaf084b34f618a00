"""What the host code of a launch says of its arguments, with sizes of tensors assumed.

Nothing is run: assignments before the launch are evaluated in their order, whatever branch they
stand in, and what a tensor's shape would say is answered with one extent.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewright.python_syntax import parameter_defaults
from tilewright.signatures.tensors import TensorReader, mentions
from tilewright.source.constants import Evaluator, Undecidable
from tilewright.source.model import Module
from tilewright.source.parse import module_constants

Literal = int | float | bool | str | None
_HEADS = ("head_dim", "headdim", "head_size", "d_head", "HEAD_DIM")
_HEAD_EXTENT = 64
_MOST_CALLERS = 4


@dataclass(frozen=True)
class Stated:
    """What a launch says of one argument.

    Attributes:
        value: of a number, string or None.
        has_value: whether ``value`` is known.
        is_assumed: it was computed from extents that were assumed.
        dtype: the element type of a tensor, as Triton names it; None if not said.
        block: the block of a tensor descriptor.
        is_inner: it is the innermost stride of a tensor, taken for 1.
        is_type: ``value`` names an element type.
    """

    value: Literal = None
    has_value: bool = False
    is_assumed: bool = False
    dtype: str | None = None
    block: tuple[int, ...] | None = None
    is_inner: bool = False
    is_type: bool = False


@dataclass(frozen=True)
class HostCode:
    """What the host code says of a launch's arguments and compiler options."""

    arguments: Mapping[str, Stated] = field(default_factory=dict)
    options: Mapping[str, int | float | bool | str] = field(default_factory=dict)
    line: int | None = None


def host_code(module: Module, kernel: str, which: int, extent: int) -> HostCode:
    """Of the launch ``which`` of a kernel; empty if the file has none.

    Args:
        extent: what each side of a tensor is taken to be.
    """
    launches = [x for x in module.launches_of(kernel) if not x.is_warmup]
    if not launches:
        return HostCode()
    launch = launches[which]
    reader = _Reader(module, launch.node, extent)
    arguments = {name: reader.stated(node) for name, node in launch.arguments.items()}
    options = {name: reader.stated(node).value for name, node in launch.options.items()}
    known = {k: v for k, v in options.items() if isinstance(v, int | float | bool | str)}
    return HostCode(arguments, known, launch.range.line)


class _Reader:
    """The names of one host function, as they are where it launches, or calls what launches.

    Args:
        inside: the functions that were followed to this call, this one's callers not among them.
    """

    def __init__(
        self, module: Module, call: ast.Call, extent: int, inside: tuple[str, ...] = ()
    ) -> None:
        self._module = module
        self._inside = inside
        functions = {n.name: n for n in module.tree.body if isinstance(n, ast.FunctionDef)}
        self._extents = _Extents(extent)
        self._evaluator = Evaluator(
            module_constants(module.tree), functions, module.names, assume=self._extents
        )
        self._extent = extent
        self._scope: dict[str, Any] = {}
        self._assumed: set[str] = set()
        self._assigned: dict[str, ast.expr] = {}
        self._innermost: dict[str, int] = {}
        around = _function_around(module.tree, call)
        self._note_strides(call)
        if around is not None:
            self._enter(around, call.lineno)
        self.tensors = TensorReader(module.names, self._assigned)

    def stated(self, node: ast.expr) -> Stated:
        """What an argument's expression says."""
        if named := self.tensors.type_named(node):
            return Stated(named, True, is_type=True)
        if self._is_inner(node):
            return Stated(1, True, is_assumed=True, is_inner=True)
        try:
            value, is_assumed = self._value(node)
        except Undecidable:
            return Stated(dtype=self.tensors.dtype(node), block=self._block(node))
        if value is None or isinstance(value, bool | int | float | str):
            return Stated(value, True, is_assumed)
        if isinstance(value, tuple) and all(isinstance(v, bool | int | float | str) for v in value):
            return Stated(f"triton.tuple:{json.dumps(value)}", True, is_assumed)
        return Stated()

    def _enter(self, function: ast.FunctionDef, line: int) -> None:
        spec = function.args
        positional = [*spec.posonlyargs, *spec.args]
        for argument, default in parameter_defaults(spec):
            if default is not None:
                self._assign(argument.arg, default, keep_none=False)
        self._ask_caller(function, [argument.arg for argument in positional])
        self._body(function.body, line)

    def _ask_caller(self, function: ast.FunctionDef, names: list[str]) -> None:
        """Parameters without a default are what the file's first call of the function gives."""
        if function.name in self._inside or len(self._inside) >= _MOST_CALLERS:
            return
        call = next(_calls_of(self._module.tree, function.name), None)
        if call is None:
            return
        inside = (*self._inside, function.name)
        caller = _Reader(self._module, call, self._extent, inside)
        plain = not any(isinstance(given, ast.Starred) for given in call.args)
        positional = zip(names, call.args, strict=False) if plain else ()
        keywords = ((one.arg, one.value) for one in call.keywords if one.arg)
        for name, given in (*positional, *keywords):
            stated = caller.stated(given) if name not in self._scope else Stated()
            if stated.has_value and not stated.is_assumed and not stated.is_type:
                self._scope[name] = stated.value

    def _body(self, body: list[ast.stmt], line: int, *, is_sure: bool = True) -> None:
        """Statements before a line, of one branch where its condition is decided.

        Args:
            is_sure: the launch is not reached without them.
        """
        for statement in body:
            if statement.lineno >= line:
                return
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self._bind(target, value, is_sure=is_sure)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._bind(target, value, is_sure=is_sure)
                case ast.AugAssign(target=ast.Name(id=name)):
                    self._change(name)
                case ast.If():
                    branches = self._branches(statement, line)
                    around = _reaches(statement, line)
                    for branch in branches:
                        self._body(branch, line, is_sure=is_sure and (around or len(branches) == 1))
                case ast.For() | ast.While() | ast.With():
                    self._body(statement.body, line, is_sure=is_sure)
                case ast.FunctionDef():
                    self._body(statement.body, line, is_sure=is_sure)

    def _branches(self, statement: ast.If, line: int) -> list[list[ast.stmt]]:
        """The branch that is taken, or both, the first last, so that its values count."""
        both = [statement.orelse, statement.body]
        if _reaches(statement, line):
            return both  # the launch stands in one of them
        try:
            return [statement.body if self._value(statement.test)[0] else statement.orelse]
        except Undecidable:
            return both

    def _bind(self, target: ast.expr, value: ast.expr, *, is_sure: bool = True) -> None:
        if isinstance(target, ast.Name):
            if is_sure or not mentions(value, target.id):
                self._assigned[target.id] = value
            else:  # `x = x.int()` on one of two ways: what x is now, nothing says
                self._assigned.pop(target.id, None)
            self._assign(target.id, value)
        elif isinstance(target, ast.Tuple) and _is_shape(value):
            for item in target.elts:
                if isinstance(item, ast.Name):
                    self._assume(item.id)
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                for item, inner in zip(target.elts, value.elts, strict=True):
                    self._bind(item, inner, is_sure=is_sure)
        elif isinstance(target, ast.Tuple):
            self._unpack([e.id for e in target.elts if isinstance(e, ast.Name)], value)

    def _unpack(self, names: list[str], value: ast.expr) -> None:
        try:
            items, is_assumed = self._value(value)
        except Undecidable:
            items, is_assumed = None, False
        if isinstance(items, list | tuple) and len(items) == len(names):
            self._scope.update(zip(names, items, strict=True))
            self._assumed |= set(names) if is_assumed else set()
        else:
            self._forget(*names)

    def _assign(self, name: str, value: ast.expr, *, keep_none: bool = True) -> None:
        try:
            found, is_assumed = self._value(value)
        except Undecidable:
            self._forget(name)
            return
        if found is None and not keep_none:
            return
        if is_assumed and isinstance(found, int) and name in _HEADS:
            found = _HEAD_EXTENT
        self._scope[name] = found
        (self._assumed.add if is_assumed else self._assumed.discard)(name)

    def _assume(self, name: str) -> None:
        self._scope[name] = _HEAD_EXTENT if name in _HEADS else self._extent
        self._assumed.add(name)

    def _change(self, name: str) -> None:
        """A name that is counted up: a number of a size unknown."""
        if isinstance(self._scope.get(name), int):
            self._assume(name)
        else:
            self._forget(name)

    def _forget(self, *names: str) -> None:
        for name in names:
            self._scope.pop(name, None)
            self._assumed.discard(name)

    def _value(self, node: ast.expr) -> tuple[Any, bool]:
        """(value, whether it depends on what was assumed); raises ``Undecidable``."""
        before = self._extents.count
        value = self._evaluator.value(node, dict(self._scope))
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        return value, self._extents.count > before or bool(names & self._assumed)

    def _note_strides(self, call: ast.Call) -> None:
        """The highest axis whose stride is passed is a tensor's innermost."""
        for node in (*call.args, *(keyword.value for keyword in call.keywords)):
            if (found := _stride(node)) is not None:
                tensor, axis = found
                self._innermost[tensor] = max(axis, self._innermost.get(tensor, 0))

    def _is_inner(self, node: ast.expr) -> bool:
        found = _stride(node)
        if found is None:
            return False
        tensor, axis = found
        return axis == -1 or (axis > 0 and axis == self._innermost.get(tensor))

    def _block(self, node: ast.expr) -> tuple[int, ...] | None:
        """The block of a tensor descriptor that the host makes."""
        made = self._assigned.get(node.id) if isinstance(node, ast.Name) else node
        if not isinstance(made, ast.Call) or "TensorDescriptor" not in ast.unparse(made.func):
            return None
        given = [k.value for k in made.keywords if k.arg == "block_shape"] or made.args[-1:]
        try:
            block = self._value(given[0])[0] if given else None
        except Undecidable:
            return None
        if isinstance(block, list | tuple) and all(isinstance(side, int) for side in block):
            return tuple(block)
        return None


def _calls_of(tree: ast.Module, name: str) -> Iterator[ast.Call]:
    """Calls of a function by its name, in the file's order."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    named = (c for c in calls if isinstance(c.func, ast.Name) and c.func.id == name)
    return iter(sorted(named, key=lambda call: call.lineno))


def _reaches(statement: ast.stmt, line: int) -> bool:
    """Whether a line stands inside a statement."""
    return statement.lineno < line <= (statement.end_lineno or line)


class _Extents:
    """Answers what the host asks of shapes with one extent, and counts the answers."""

    def __init__(self, extent: int) -> None:
        self._extent = extent
        self.count = 0

    def __call__(self, node: ast.expr, known: Mapping[str, Any]) -> int | bool | None:
        answer = self._answer(node, known)
        self.count += answer is not None
        return answer

    def _answer(self, node: ast.expr, known: Mapping[str, Any]) -> int | bool | None:
        match node:
            case ast.Subscript(value=value) if _is_shape(value):
                return self._extent
            case ast.Call(func=ast.Attribute(attr="size" | "stride"), args=[_, *_]):
                return self._extent
            case ast.Call(func=ast.Attribute(attr=asked)) if asked in _ANSWERS:
                return _ANSWERS[asked]
            case ast.Attribute(attr="ndim"):
                return 2
            case ast.Compare(
                left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as op],
                comparators=[ast.Constant(value=None)],
            ) if name not in known:  # fmt: skip
                return isinstance(op, ast.IsNot)  # what may be None is taken to be given
        return None


_ANSWERS = {"numel": 1 << 20, "nelement": 1 << 20, "dim": 2, "element_size": 2}


def _is_shape(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="shape"):
            return True
        case ast.Call(func=ast.Attribute(attr="size" | "stride"), args=[]):
            return True
        case ast.Subscript(slice=ast.Slice()):
            return _is_shape(node.value)
    return False


def _stride(node: ast.expr) -> tuple[str, int] | None:
    """(the tensor, the axis) of ``x.stride(axis)``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="stride", value=tensor), args=[axis]):
            try:
                number = ast.literal_eval(axis)
            except (ValueError, SyntaxError):
                return None
            return (ast.unparse(tensor), number) if isinstance(number, int) else None
    return None


def _function_around(tree: ast.Module, node: ast.Call) -> ast.FunctionDef | None:
    """The innermost function that a call stands in."""
    found = None
    for inner in ast.walk(tree):
        if isinstance(inner, ast.FunctionDef) and any(n is node for n in ast.walk(inner)):
            found = inner
    return found
