"""Extents that an entry point divides: what it does at other than multiples is its own affair.

``half = x.shape[-1] // 2``, ``x.chunk(2, dim=1)``, ``assert n % 16 == 0`` and their like. Read from
the text of host code, of constructors, and of kernels that are given such an extent. Where the rest
of such a division is used as well, the code takes care of it, and nothing is split.
"""

import ast
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.problems.model import Dim
from tilewright.python_syntax import dotted_text

_SAME = frozenset({"contiguous", "to", "float", "half", "cuda", "xpu", "cpu", "detach", "bfloat16"})
_MOST_DEPTH = 4


@dataclass(frozen=True)
class Extent:
    """An extent of the input at a position; with ``axis`` None, the constructor's argument."""

    position: int
    axis: int | None


@dataclass(frozen=True)
class Split:
    """``extent`` is divided by ``by``, a number or another extent, at a line of the text."""

    extent: Extent
    by: "int | Extent"
    line: int
    text: str


@dataclass(frozen=True)
class _Tensor:
    position: int


_Known = Extent | _Tensor | int


@dataclass
class _Found:
    splits: dict[tuple[Extent, "int | Extent"], Split] = field(default_factory=dict)
    handled: set[tuple[Extent, "int | Extent"]] = field(default_factory=set)


def steps_of(
    splits: Iterable[Split],
    dims: Mapping[str, Dim],
    free: Collection[str],
    name_of: Callable[[Extent], str | None],
    stated: Mapping[str, int] | None = None,
) -> tuple[dict[str, int], dict[str, str]]:
    """What dimensions that may vary do so in multiples of, as the original divides them; a word on
    each. ``name_of``: the dimension that an extent is; ``stated``: multiples that hold anyway."""
    steps = dict(stated or {})
    kept: dict[str, str] = {}
    for split in splits:
        name, by = name_of(split.extent), split.by
        if isinstance(by, Extent):
            other = dims.get(name_of(by) or "")
            by = other if isinstance(other, int) else 1
        size = dims.get(name or "")
        if name is None or name not in free or by < 2 or not isinstance(size, int) or size % by:
            continue
        steps[name] = math.lcm(steps.get(name, 1), by)
        kept[name] = (
            f"{name} was varied in multiples of {steps[name]} alone, as the original divides it so "
            f"(line {split.line}: {split.text})"
        )
    return steps, kept


def splits_of(tree: ast.Module, name: str) -> tuple[Split, ...]:
    """What a function, or a model's constructor and ``forward``, divides."""
    found = _Found()
    defined = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    numbers = _numbers(tree.body)
    target = defined.get(name)
    functions = {n: d for n, d in defined.items() if isinstance(d, ast.FunctionDef)}
    if isinstance(target, ast.FunctionDef):
        _Walk(functions, found, numbers).function(target, _inputs(target, 0))
    elif isinstance(target, ast.ClassDef):
        methods = {n.name: n for n in target.body if isinstance(n, ast.FunctionDef)}
        walk = _Walk({**functions, **methods}, found, numbers)
        if "__init__" in methods:
            given = enumerate(_parameters(methods["__init__"])[1:])
            walk.function(methods["__init__"], {n: Extent(at, None) for at, n in given})
        if "forward" in methods:
            walk.function(methods["forward"], _inputs(methods["forward"], 1))
    return tuple(one for key, one in found.splits.items() if key not in found.handled)


def _parameters(node: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]


def _inputs(node: ast.FunctionDef, first: int) -> dict[str, _Known]:
    return {name: _Tensor(at) for at, name in enumerate(_parameters(node)[first:])}


def _numbers(body: list[ast.stmt]) -> dict[str, _Known]:
    """Whole numbers that names stand for."""
    return {
        target.id: node.value.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        and type(node.value.value) is int
        for target in node.targets
        if isinstance(target, ast.Name)
    }  # fmt: skip


class _Walk:
    """Follows extents through a function and what it hands them to."""

    def __init__(
        self,
        functions: Mapping[str, ast.FunctionDef],
        found: _Found,
        members: dict[str, _Known],
    ) -> None:
        self._functions = functions
        self._found = found
        self._members = members  # of the module, and of the model as "self.name"
        self._depth = 0

    def function(self, node: ast.FunctionDef, given: Mapping[str, _Known]) -> None:
        """Look at a function whose parameters are known as far as ``given`` says."""
        if self._depth >= _MOST_DEPTH:
            return
        self._depth += 1
        known = {**self._members, **given}
        for one in ast.walk(node):
            if isinstance(one, ast.Assign):
                self._assign(one, known)
        for one in ast.walk(node):
            self._look(one, known)
        guarded = {id(test) for test in _refusals(node)}
        for one in _outside(node, guarded):
            self._rest(one, known)
        for test in _refusals(node):
            self._refused(test, known)
        self._depth -= 1

    def _assign(self, node: ast.Assign, known: dict[str, _Known]) -> None:
        for target in node.targets:
            if isinstance(target, ast.Tuple):
                self._unpack(target, node.value, known)
                continue
            value = self._value(node.value, known)
            name = dotted_text(target)
            if name is None:
                continue
            if value is None:
                known.pop(name, None)
            else:
                known[name] = value
                if name.startswith("self."):
                    self._members[name] = value

    def _unpack(self, target: ast.Tuple, value: ast.expr, known: dict[str, _Known]) -> None:
        """``M, N = x.shape``; also ``*_, N = x.shape``, whose last are counted from the end."""
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, [self._value(v, known) for v in value.elts], strict=True)
        else:
            base = _shape_of(value)
            tensor = self._value(base, known) if base is not None else None
            if not isinstance(tensor, _Tensor):
                return
            stars = [at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
            from_end = stars[0] if stars else len(target.elts)
            axes = [
                at if at < from_end else at - len(target.elts) for at in range(len(target.elts))
            ]
            pairs = zip(target.elts, [Extent(tensor.position, axis) for axis in axes], strict=True)
        for one, found in pairs:
            if isinstance(one, ast.Name) and found is not None:
                known[one.id] = found

    def _value(self, node: ast.expr, known: Mapping[str, _Known]) -> _Known | None:
        """What an expression is, as far as it is an input, an extent or a whole number."""
        if isinstance(node, ast.Constant):
            return node.value if type(node.value) is int else None
        name = dotted_text(node)
        if name is not None and name in known:
            return known[name]
        if isinstance(node, ast.Subscript):
            base, index = _shape_of(node.value), self._value(node.slice, known)
            return self._extent(base, index, known)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._value(node.operand, known)
            return -value if isinstance(value, int) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "size" and len(node.args) == 1:
                return self._extent(node.func.value, self._value(node.args[0], known), known)
            if node.func.attr in _SAME:
                return self._value(node.func.value, known)
        return None

    def _extent(
        self, base: ast.expr | None, index: _Known | None, known: Mapping[str, _Known]
    ) -> Extent | None:
        tensor = self._value(base, known) if base is not None else None
        if not isinstance(tensor, _Tensor) or not isinstance(index, int):
            return None
        return Extent(tensor.position, index)

    def _look(self, node: ast.AST, known: dict[str, _Known]) -> None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.RShift):
            by = self._value(node.right, known)
            if isinstance(node.op, ast.RShift):
                by = 1 << by if isinstance(by, int) and 0 < by < 16 else None
            self._split(self._value(node.left, known), by, node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            self._covered(node, known)
        elif isinstance(node, ast.Call):
            self._call(node, known)

    def _covered(self, node: ast.BinOp, known: dict[str, _Known]) -> None:
        """``n // BLOCK + 1`` leaves nothing out."""
        for one in (node.left, node.right):
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.FloorDiv):
                self._handle(self._value(one.left, known), self._value(one.right, known))

    def _call(self, node: ast.Call, known: dict[str, _Known]) -> None:
        name = dotted_text(node.func) or ""
        if name.rpartition(".")[2] in ("chunk", "tensor_split"):
            self._chunk(node, name, known)
        held = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        called = self._functions.get((dotted_text(held) or "").removeprefix("self."))
        if called is None:
            return
        names = _parameters(called)
        names = names[1:] if names[:1] == ["self"] else names
        pairs = [*zip(names, node.args, strict=False)]
        pairs += [(one.arg, one.value) for one in node.keywords if one.arg]
        given = {name: self._value(value, known) for name, value in pairs}
        kept = {name: value for name, value in given.items() if value is not None}
        if any(not isinstance(value, int) for value in kept.values()):
            self.function(called, kept)

    def _chunk(self, node: ast.Call, name: str, known: dict[str, _Known]) -> None:
        """``x.chunk(2, dim=1)`` and ``torch.chunk(x, 2, 1)``."""
        of_tensor = isinstance(node.func, ast.Attribute) and not name.startswith("torch.")
        base = node.func.value if of_tensor and isinstance(node.func, ast.Attribute) else None
        rest = node.args if base is not None else node.args[1:]
        base = base if base is not None else (node.args[0] if node.args else None)
        named = {one.arg: one.value for one in node.keywords}
        count = rest[0] if rest else named.get("chunks") or named.get("sections")
        dim = rest[1] if len(rest) > 1 else named.get("dim")
        axis = self._value(dim, known) if dim is not None else 0
        extent = self._extent(base, axis, known)
        self._split(extent, self._value(count, known) if count is not None else None, node)

    def _rest(self, node: ast.AST, known: dict[str, _Known]) -> None:
        """A rest that is computed, and not only refused, is taken care of."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            self._handle(self._value(node.left, known), self._value(node.right, known))

    def _refused(self, test: ast.expr, known: dict[str, _Known]) -> None:
        for one in ast.walk(test):
            if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod):
                self._split(self._value(one.left, known), self._value(one.right, known), one)

    def _split(self, extent: _Known | None, by: _Known | None, node: ast.expr) -> None:
        if not isinstance(extent, Extent) or isinstance(by, _Tensor) or by is None or by == extent:
            return
        if isinstance(by, int) and by < 2:
            return
        self._found.splits.setdefault(
            (extent, by), Split(extent, by, node.lineno, ast.unparse(node))
        )

    def _handle(self, extent: _Known | None, by: _Known | None) -> None:
        if isinstance(extent, Extent) and isinstance(by, int | Extent):
            self._found.handled.add((extent, by))


def _refusals(node: ast.FunctionDef) -> Iterator[ast.expr]:
    """What is tested where only an error can follow."""
    for one in ast.walk(node):
        match one:
            case ast.Assert(test=test):
                yield test
            case ast.If(test=test, body=body) if all(isinstance(s, ast.Raise) for s in body):
                yield test
            case ast.Call(args=[test, *_]) if (dotted_text(one.func) or "").endswith("_check"):
                yield test


def _outside(node: ast.AST, left_out: set[int]) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if id(child) not in left_out:
            yield child
            yield from _outside(child, left_out)


def _shape_of(node: ast.expr) -> ast.expr | None:
    """``x`` of ``x.shape`` and of ``x.size()``."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return node.value
    if isinstance(node, ast.Call) and not node.args and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == "size" else None
    return None
