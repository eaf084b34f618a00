"""Local names that stand for what outlives the call: changed by another name it is changed too."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.evaluation.rules.allowlists import listed
from tilewright.evaluation.rules.state_holders import cached_functions, keepers
from tilewright.evaluation.rules.view import FUNCTIONS, Function, View, base_of

_COPYING = listed(
    "dict list tuple set frozenset sorted len min max sum int float str bool copy "
    "range isinstance type getattr hasattr"
)
_FRESH = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp)
_ROUNDS = 3


@dataclass(frozen=True)
class Aliases:
    """Asks of each local name what it comes from; each function is looked through once."""

    view: View
    _kept: frozenset[str]
    _functions: frozenset[str]
    _defined: frozenset[str]
    _known: dict[int, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def from_view(cls, view: View) -> "Aliases":
        """For a module: its keepers, its cached functions, its functions and classes."""
        defined = frozenset(
            name
            for name, values in view.globals.items()
            if any(isinstance(one, ast.FunctionDef | ast.ClassDef) for one in values)
        )
        return cls(view, keepers(view), cached_functions(view), defined)

    def origin(self, node: ast.Name) -> str | None:
        """The module's name, or ``self``, that a local name stands for a part of."""
        for above in self.view.enclosing_nodes(node):
            if isinstance(above, FUNCTIONS):
                found = self._in(above).get(node.id)
                if found is not None or node.id in self.view.locals_of(above):
                    return found
        return None

    def source(self, node: ast.expr) -> str | None:
        """The same of an expression."""
        function = self.view.function_of(node)
        return self._source(node, {} if function is None else self._in(function))

    def _in(self, function: Function) -> Mapping[str, str]:
        known = self._known.get(id(function))
        if known is None:
            known = self._known[id(function)] = self._aliases_in(function)
        return known

    def _aliases_in(self, function: Function) -> dict[str, str]:
        found: dict[str, str] = {}
        bindings = list(_bindings(function))
        for _ in range(_ROUNDS):
            before = len(found)
            for name, value in bindings:
                comes_from = self._source(value, found)
                if comes_from is not None:
                    found.setdefault(name, comes_from)
            if len(found) == before:
                break
        return found

    def _source(self, value: ast.AST, found: Mapping[str, str]) -> str | None:
        """What outlives a call and may be reached by the value of an expression."""
        if isinstance(value, ast.IfExp):
            return self._source(value.body, found) or self._source(value.orelse, found)
        if isinstance(value, ast.BoolOp):
            sources = (self._source(one, found) for one in value.values)
            return next((one for one in sources if one is not None), None)
        if isinstance(value, ast.NamedExpr):
            return self._source(value.value, found)
        if isinstance(value, ast.Call):
            return self._of_call(value, found)
        base = base_of(value)
        if isinstance(base, ast.Call):
            return self._of_call(base, found)
        if not isinstance(base, ast.Name):
            return None
        if base.id in ("self", "cls"):
            return base.id if base is not value else None
        if base.id in found:
            return found[base.id]
        is_local = self.view.is_local(base)
        return base.id if not is_local and base.id in self._kept | self._defined else None

    def _of_call(self, call: ast.Call, found: Mapping[str, str]) -> str | None:
        """``BOXES.get(n)``, ``enumerate(BOXES)``, a cached function's result."""
        if isinstance(call.func, ast.Attribute):
            source = None if call.func.attr == "copy" else self._source(call.func.value, found)
            return source if source in self._kept or source in ("self", "cls") else None
        if not isinstance(call.func, ast.Name) or call.func.id in _COPYING:
            return None
        if call.func.id in self._functions:
            return f"{call.func.id}()"
        sources = (self._source(one, found) for one in call.args)
        is_own = call.func.id in self._defined
        return None if is_own else next((one for one in sources if one in self._kept), None)


def _bindings(function: Function) -> Iterator[tuple[str, ast.AST]]:
    """Each name that a function's statements bind, with what it is taken from."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _parts(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _parts(target, value)
            case ast.NamedExpr(target=target, value=value):
                yield from _parts(target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield from _parts(target, value)
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                yield from _parts(target, value)
            case ast.Match(subject=value):
                yield from ((name, value) for name in _captured(node))


def _parts(target: ast.AST, value: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from _parts(target.value, value)
    elif isinstance(target, ast.Tuple | ast.List):
        same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        values = value.elts if same and isinstance(value, ast.Tuple | ast.List) else None
        for at, part in enumerate(target.elts):
            yield from _parts(part, value if values is None else values[at])


def _captured(node: ast.Match) -> Iterator[str]:
    for case in node.cases:
        for part in ast.walk(case.pattern):
            name = getattr(part, "name", None) or getattr(part, "rest", None)
            if isinstance(name, str):
                yield name


def is_fresh(value: ast.AST) -> bool:
    """Whether an expression makes a container of its own."""
    return isinstance(value, _FRESH)
