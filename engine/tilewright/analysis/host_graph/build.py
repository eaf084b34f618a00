"""One abstract pass over a host function's statements: what it makes, uses and hands out."""

import ast
from collections.abc import Hashable, Iterable, Mapping

from tilewright.analysis.flow import pure_helpers
from tilewright.analysis.host_graph.expressions import HostExpressions
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, UseKind
from tilewright.analysis.per_kernel import Same, kept_by
from tilewright.python_syntax import descendants
from tilewright.source.model import Kernel, Language, Launch, Module


def launching_functions(module: Module) -> Mapping[str, list[Launch]]:
    """The host functions to be looked at that launch Triton kernels of this file."""
    if isinstance(module.focus, Kernel):
        return {}
    by_host = module.lookup.launches_in
    hosts = by_host if module.focus is None else {module.focus} & by_host.keys()
    triton = {name: _of_triton(module, by_host[name]) for name in hosts}
    return {
        name: found for name, found in triton.items() if found and name in module.host_functions
    }


def _of_triton(module: Module, launches: Iterable[Launch]) -> list[Launch]:
    named = module.lookup.named
    return [x for x in launches if any(_is_triton(k) for k in named.get(x.kernel, ()))]


def _is_triton(kernel: Kernel) -> bool:
    return kernel.language is Language.TRITON


def _key(module: Module, function: str) -> Hashable:
    launches = module.lookup.launches_in.get(function, ())
    # What a launch reads and writes follows from the kernel, which an edit may change alone.
    kernels = {k.node for x in launches for k in module.lookup.named.get(x.kernel, ())}
    return (
        *(module.host_functions[function], Same(module.names), tuple(map(Same, launches))),
        *(frozenset(kernels), pure_helpers(module)),
    )


@kept_by(_key, 64)
def host_graph_of(module: Module, function: str) -> HostGraph:
    """The graph of a host function of ``module``; built once for each parsed function."""
    return GraphBuilder(module, module.host_functions[function]).build()


class GraphBuilder(HostExpressions):
    """Goes through the statements of a host function, in program order."""

    def build(self) -> HostGraph:
        """The graph of the whole function."""
        node = self._graph.node
        args = node.args
        for argument in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            self._env[argument.arg] = self._make(Origin.PARAMETER, argument.arg)
        for rest in (args.vararg, args.kwarg):
            if rest is not None:
                self._env[rest.arg] = self._make(Origin.UNKNOWN, rest.arg)
        self._body(node.body)
        return self._graph

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
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
            case ast.Return(value=ast.expr() as given):
                value = self.eval(given)
                self._graph.returned[statement] = value
                self.escape(value, statement)
            case ast.Expr():
                self._expression(statement)
            case ast.Assert():
                self.eval(statement.test)
            case _:
                self._compound(statement)

    def _expression(self, statement: ast.Expr) -> None:
        value = self.eval(statement.value)
        if isinstance(statement.value, ast.Await | ast.Yield | ast.YieldFrom):
            self.escape(value, statement)

    def _compound(self, statement: ast.stmt) -> None:
        match statement:
            case ast.If():
                self._if(statement)
            case ast.For():
                self.eval(statement.iter)
                self._loop(statement, [statement.target])
            case ast.While():
                self.eval(statement.test)
                self._loop(statement, [])
            case ast.With():
                for item in statement.items:
                    self.eval(item.context_expr)
                self._body(statement.body)
            case ast.Try():
                self._try(statement)
            case ast.Delete() | ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Global():
                pass
            case _:
                self._unmodelled(statement)

    def _unmodelled(self, statement: ast.stmt) -> None:
        """A nested function and the like: what it names leaves, what it sets is unknown."""
        for part in descendants(statement):
            if isinstance(part, ast.Name):
                if part.id in self._env:
                    self.escape(self._env[part.id], statement)
                if isinstance(part.ctx, ast.Store):
                    self._env[part.id] = self._make(Origin.UNKNOWN, part.id)

    def _assign(self, target: ast.expr, value: HostValue, statement: ast.stmt) -> None:
        match target:
            case ast.Name():
                self._env[target.id] = value
                self._graph.names.setdefault(target.id, []).append(value)
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value, statement)
            case ast.Attribute():
                self.escape(value, statement)
                self.eval(target.value)
                text = ast.unparse(target)
                if text.startswith("self."):
                    self._env[text] = value
            case ast.Subscript():
                owner = self.eval(target.value)
                self.eval(target.slice)
                self._use(owner, UseKind.IN_PLACE, statement)
                self._use(value, UseKind.OPERATION, statement)
                if owner.origin not in (Origin.ALLOCATED, Origin.COMPUTED, Origin.VIEW):
                    self.escape(value, statement)
            case ast.Starred():
                self._assign(target.value, value, statement)

    def _unpack(self, targets: list[ast.expr], value: HostValue, statement: ast.stmt) -> None:
        is_plain = (
            value.origin is Origin.JOINED
            and isinstance(value.node, ast.Tuple | ast.List)
            and len(value.sources) == len(targets)
        )
        for place, part in enumerate(targets):
            if is_plain:
                given = value.sources[place]
            elif value.is_number:
                given = self._number()
            elif value.origin is Origin.VIEW:
                given = self._make(Origin.VIEW, "item", value)
            else:
                given = self._make(Origin.UNKNOWN, "item", value)
                self.escape(value, statement)
            self._assign(part, given, statement)

    def _augment(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        if isinstance(statement.target, ast.Name):
            before = self._env.get(statement.target.id)
            if before is None or before.is_number:
                self._env[statement.target.id] = (
                    self._number()
                    if value.is_number
                    else self._computed(statement.value, "Add", [value])
                )
                return
            self._use(before, UseKind.IN_PLACE, statement)
        else:
            owner = self.eval(statement.target)
            self._use(owner, UseKind.IN_PLACE, statement)
        self._use(value, UseKind.OPERATION, statement)

    def _if(self, statement: ast.If) -> None:
        self.eval(statement.test)
        before, outer = dict(self._env), self._branches
        ends: list[dict[str, HostValue]] = []
        for block in (statement.body, statement.orelse):
            number = self._count()
            self._graph.guards[number] = statement
            self._branches, self._env = (*outer, number), dict(before)
            self._body(block)
            if not _leaves(block):
                ends.append(self._env)
        self._branches = outer
        self._env = ends[0] if ends else before
        if len(ends) == 2:
            self._join(ends[1])

    def _join(self, other: dict[str, HostValue]) -> None:
        for name in self._env.keys() | other.keys():
            one, two = self._env.get(name), other.get(name)
            if one is not two:
                sources = tuple(v for v in (one, two) if v is not None)
                if all(v.is_number for v in sources):
                    self._env[name] = self._number()
                else:
                    self._env[name] = self._make(Origin.JOINED, "", *sources)

    def _loop(self, statement: ast.For | ast.While, targets: list[ast.expr]) -> None:
        before, outer = dict(self._env), self._loops
        self._loops = (*outer, self._count())
        for name in _stored(statement.body):
            start = self._env.get(name)
            known = () if start is None else (start,)
            self._env[name] = self._make(Origin.JOINED, "loop", *known)
        heads = {name: self._env[name] for name in _stored(statement.body)}
        for target in targets:
            self._assign(target, self._make(Origin.UNKNOWN, "item"), statement)
        self._body(statement.body)
        self._loops = outer
        for name, head in heads.items():
            end = self._env.get(name)
            if end is not None and end is not head:
                # What a turn makes, the next turn sees.
                self._graph.add_value(
                    HostValue(Origin.JOINED, "loop", (end, head), None, head.place)
                )
                self.escape(end, statement)
        self._join(before)
        self._body(statement.orelse)

    def _try(self, statement: ast.Try) -> None:
        self._body(statement.body)
        after = dict(self._env)
        for handler in statement.handlers:
            self._body(handler.body)
            self._join(after)
        self._body(statement.orelse)
        self._body(statement.finalbody)


def _leaves(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _stored(body: list[ast.stmt]) -> list[str]:
    """Names that statements may bind, in order, each once."""
    names: dict[str, None] = {}
    for statement in body:
        for node in descendants(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
    return list(names)
