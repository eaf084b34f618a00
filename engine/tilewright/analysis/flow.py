"""From a kernel's statements to its values: one abstract pass in program order.

A name set in a loop is a ``phi`` at the loop's head and an ``after`` behind it; a name set
in one branch of a conditional is a ``select``. Nothing is guessed: what the pass does not
model becomes an opaque value.
"""

import ast
from collections.abc import Hashable, Iterator

from tilewright.analysis.expressions import (
    PURE_BUILTINS,
    Expressions,
    method_writes_nothing,
    writes_nothing,
)
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import Same, kept_by, per_kernel, per_module
from tilewright.analysis.values import Definition, Flow, Loop, Value
from tilewright.python_syntax import descendants
from tilewright.source.model import Kernel, Module
from tilewright.source.names import Names

_RANGES = {
    "range": False,
    "triton.language.range": False,
    "triton.language.static_range": True,
    "triton.experimental.gluon.language.static_range": True,
}
__all__ = ["flow_of", "pure_helpers"]


def flow_of(module: Module, kernel: Kernel) -> Flow:
    """The dataflow of a kernel of ``module``; computed once for each parsed kernel."""
    return _flow(module, kernel, pure_helpers(module))


@per_kernel
def _flow(module: Module, kernel: Kernel, pure: frozenset[str]) -> Flow:
    return _Builder(module.names, pure).build(kernel.node)


class _Builder(Expressions):
    """Statements: assignments, conditionals and loops."""

    def __init__(self, names: Names, pure: frozenset[str]) -> None:
        super().__init__(names, pure)
        self._conditions: tuple[tuple[Value, bool], ...] = ()
        self._returns: list[tuple[tuple[tuple[Value, bool], ...], Value]] = []

    def build(self, node: ast.FunctionDef) -> Flow:
        args = node.args
        for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            self._env[parameter.arg] = self._table.make("param", detail=parameter.arg)
        self._body(node.body)
        self._flow.result = self._result()
        return self._flow

    def _result(self) -> Value | None:
        """What the function returns: the returns before the last, each under its conditions."""
        result: Value | None = None
        for conditions, value in reversed(self._returns):
            if result is None:
                result = value
                continue
            chosen = value
            for condition, is_true in reversed(conditions):
                branches = (chosen, result) if is_true else (result, chosen)
                chosen = self._table.make("select", condition, *branches)
            result = chosen
        return result

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement = statement
            self._do(statement)

    def _do(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign():
                value = self.eval(statement.value)
                for target in statement.targets:
                    self._assign(target, value, statement)
            case ast.AnnAssign(value=ast.expr() as given):
                self._assign(statement.target, self.eval(given), statement)
            case ast.AugAssign():
                self._augment(statement)
            case ast.Expr(value=ast.expr() as used):
                self.eval(used)
            case ast.Return(value=ast.expr() as used):
                self._returns.append((self._conditions, self.eval(used)))
            case ast.Assert():
                self.eval(statement.test)
            case _:
                self._compound(statement)

    def _compound(self, statement: ast.stmt) -> None:
        match statement:
            case ast.For():
                self._for(statement)
            case ast.While():
                self._loop(statement, None, False)
            case ast.If():
                self._if(statement)
            case ast.With():
                for item in statement.items:
                    self.eval(item.context_expr)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, self._opaque(), statement)
                self._body(statement.body)
            case _:
                self._forget(statement)

    def _assign(self, target: ast.expr, value: Value, statement: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            self._env[target.id] = value
            self._flow.definitions.setdefault(target.id, []).append(
                Definition(target.id, statement, value, self._loops, self._branches, self._count())
            )
        elif isinstance(target, ast.Tuple | ast.List):
            for position, part in enumerate(target.elts):
                self._assign(part, self._item(value, position), statement)
        else:
            self.eval(target)

    def _augment(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        if not isinstance(statement.target, ast.Name):
            self.eval(statement.target)
            return
        before = self._name(statement.target)
        result = self._table.make("binary", before, value, detail=type(statement.op).__name__)
        self._assign(statement.target, result, statement)

    def _forget(self, statement: ast.stmt) -> None:
        for name in assigned_names([statement]):
            self._env[name] = self._opaque()

    def _for(self, statement: ast.For) -> None:
        call = statement.iter
        dotted = self._names.resolve(call.func) if isinstance(call, ast.Call) else None
        iterable = self.eval(call)
        bounds = None
        if isinstance(call, ast.Call) and dotted in _RANGES:
            bounds = self._bounds(iterable)
        self._loop(statement, bounds, _RANGES.get(dotted or "", False))

    def _bounds(self, iterable: Value) -> tuple[Value, Value, Value] | None:
        zero, one = self._table.make("const", detail=0), self._table.make("const", detail=1)
        match iterable.positional:
            case (stop,):
                return zero, stop, one
            case (start, stop):
                return start, stop, one
            case (start, stop, step):
                return start, stop, step
        return None

    def _loop(
        self,
        statement: ast.For | ast.While,
        bounds: tuple[Value, Value, Value] | None,
        is_static: bool,
    ) -> None:
        number = self._count()
        parent = self._loops[-1] if self._loops else None
        self._flow.loops[number] = Loop(
            number, statement, parent, bounds, is_static, self._branches
        )
        before = dict(self._env)
        inside = frozenset({number})
        self._loops = (*self._loops, number)
        phis = self._enter(statement, number, inside)
        if isinstance(statement, ast.For):
            index = self._table.make("loop_index", *(bounds or ()), detail=number, varies=inside)
            self._assign(statement.target, index, statement)
        else:
            self.eval(statement.test)
        self._body(statement.body)
        self._loops = self._loops[:-1]
        self._leave(number, before, phis)
        self._body(statement.orelse)

    def _enter(
        self, statement: ast.For | ast.While, number: int, inside: frozenset[int]
    ) -> dict[str, Value]:
        phis: dict[str, Value] = {}
        for name in assigned_names(statement.body):
            start = self._env.get(name)
            known = () if start is None else (start,)
            phis[name] = self._table.make("phi", *known, detail=f"{number}:{name}", varies=inside)
        self._env.update(phis)
        return phis

    def _leave(self, number: int, before: dict[str, Value], phis: dict[str, Value]) -> None:
        for name, phi in phis.items():
            end = self._env[name]
            self._flow.back_edges[phi] = end
            start = before.get(name)
            outer = (end.varies | (start.varies if start else frozenset())) - {number}
            value = self._table.fresh("after", (*phi.operands, end), phi.detail, frozenset(outer))
            self._env[name] = value

    def _if(self, statement: ast.If) -> None:
        condition = self.eval(statement.test)
        before = dict(self._env)
        outer = self._branches
        held = self._conditions
        self._branches = (*outer, self._count())
        self._conditions = (*held, (condition, True))
        self._body(statement.body)
        then = self._env
        self._branches = (*outer, self._count())
        self._conditions = (*held, (condition, False))
        self._env = dict(before)
        self._body(statement.orelse)
        self._branches, self._conditions = outer, held
        if _leaves(statement.body):
            return
        if _leaves(statement.orelse):
            self._env = then
            return
        for name in then.keys() | self._env.keys():
            self._env[name] = self._merged(condition, then.get(name), self._env.get(name))

    def _merged(self, condition: Value, one: Value | None, two: Value | None) -> Value:
        """A name behind a conditional; where one branch does not set it, it is opaque there."""
        if one is two and one is not None:
            return one
        one, two = one or self._undefined(), two or self._undefined()
        return self._table.make("select", condition, one, two)

    def _undefined(self) -> Value:
        value = self._opaque()
        self._flow.undefined.add(value)
        return value


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a block always ends in a return."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


@per_module
def pure_helpers(module: Module) -> frozenset[str]:
    """The file's jit functions that write no memory and call nothing unknown."""
    called = {k.name: _unsafe_calls(k, module.names) for k in module.kernels}
    pure: set[str] = set()
    while True:
        more = {name for name, calls in called.items() if calls <= pure} - pure
        if not more:
            return frozenset(pure)
        pure |= more


def _by_text(kernel: Kernel, names: Names) -> Hashable:
    return kernel.text, Same(names)


@kept_by(_by_text, 1024)
def _unsafe_calls(kernel: Kernel, names: Names) -> frozenset[str]:
    """Names of calls in a function that may write memory, by their names."""
    node = kernel.node
    local = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    local.update(assigned_names(node.body))
    calls = nodes_like(node, ast.Call)
    return frozenset(name for c in calls if (name := _unsafe(c.func, local, names)))


def _unsafe(func: ast.expr, local: set[str], names: Names) -> str | None:
    """The name of what a call may write through; None if it leaves memory alone."""
    root = func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(func, ast.Attribute) and (not isinstance(root, ast.Name) or root.id in local):
        return None if method_writes_nothing(func.attr) else f".{func.attr}"
    name = names.resolve(func) or "?"
    return None if writes_nothing(name) or name in PURE_BUILTINS else name


def assigned_names(body: list[ast.stmt]) -> list[str]:
    """Names that statements may assign, in order, each once."""
    names: dict[str, None] = {}
    for statement in body:
        for target in _targets(statement):
            for node in (target,) if isinstance(target, ast.Name) else descendants(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names[node.id] = None
    return list(names)


def _targets(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement and those inside it assign to, in order."""
    pending: list[ast.stmt] = [statement]
    while pending:
        current = pending.pop()
        yield from _own_targets(current)
        parts = [getattr(current, part, ()) for part in ("body", "orelse", "finalbody")]
        parts += [handler.body for handler in getattr(current, "handlers", ())]
        pending += reversed([inner for part in parts for inner in part])


def _own_targets(statement: ast.stmt) -> Iterator[ast.expr]:
    match statement:
        case ast.Assign():
            yield from statement.targets
        case ast.AugAssign() | ast.AnnAssign():
            yield statement.target
        case ast.With():
            yield from (i.optional_vars for i in statement.items if i.optional_vars is not None)
        case ast.For():
            yield statement.target
