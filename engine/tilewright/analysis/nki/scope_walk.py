"""From a kernel's statements to its scopes: one pass in program order, branches joined."""

import ast

from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.model import LOOPS, SYMBOLIC, LoopKind
from tilewright.analysis.nki.scope_values import NUMBER, Values, joined
from tilewright.analysis.nki.scopes import (
    UNKNOWN,
    Binding,
    Branch,
    Fact,
    Kind,
    Path,
    Region,
    Scopes,
    Write,
)
from tilewright.analysis.per_kernel import per_kernel
from tilewright.source.model import Kernel, Module

_CLOSING = frozenset({LoopKind.AFFINE, LoopKind.SEQUENTIAL, LoopKind.PYTHON})
_VARYING = frozenset({Kind.LOOP, Kind.INDEX, Kind.MASK, Kind.TILE, Kind.VIEW})
_PLAIN = frozenset({"int", "float", "bool", "str", "tuple", "list", "dict"})


@per_kernel
def scopes_of(module: Module, kernel: Kernel) -> Scopes:
    """What each name of a kernel stands for; computed once for each parsed kernel."""
    scopes = Scopes(kernel, flavour_of(module))
    _Walker(module.names, scopes).build(kernel.node)
    return scopes


class _Walker(Values):
    def build(self, node: ast.FunctionDef) -> None:
        args = node.args
        for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            plain = _is_plain(parameter.annotation)
            fact = NUMBER if plain else Fact(Kind.ARGUMENT, name=parameter.arg)
            self._bind(parameter.arg, fact, None)
        for extra in (args.vararg, args.kwarg):
            if extra is not None:
                self._bind(extra.arg, UNKNOWN, None)
        self._body(node.body)

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self._statement = statement
            self._do(statement)

    def _do(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign():
                fact = self.eval(statement.value)
                for target in statement.targets:
                    self._assign(target, fact, statement.value, statement)
            case ast.AnnAssign(value=ast.expr() as value):
                self._assign(statement.target, self.eval(value), value, statement)
            case ast.AugAssign():
                self._augment(statement)
            case ast.Expr():
                self.eval(statement.value)
            case ast.Return():
                self.scopes.returns.append(statement)
                if statement.value is not None:
                    self.eval(statement.value)
            case ast.Assert():
                self.eval(statement.test)
            case _:
                self._compound(statement)

    def _compound(self, statement: ast.stmt) -> None:
        match statement:
            case ast.For():
                self._for(statement)
            case ast.While():
                self.eval(statement.test)
                self.scopes.branches.append(Branch(statement, self._path))
                self._inside(Region(statement, LoopKind.OTHER, False), statement.body)
            case ast.If():
                self._if(statement)
            case ast.With():
                self._with(statement)
            case ast.Try():
                self._body([*statement.body, *statement.orelse, *statement.finalbody])
            case _:
                self._forget(statement)

    def _with(self, statement: ast.With) -> None:
        for item in statement.items:
            self.eval(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, UNKNOWN, None, statement)
        self._body(statement.body)

    def _forget(self, statement: ast.stmt) -> None:
        """A definition inside the kernel may read and write whatever it names."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                self.scopes.hidden.add(node.id)
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            self._bind(statement.name, UNKNOWN, None)

    def _assign(
        self, target: ast.expr, fact: Fact, value: ast.expr | None, statement: ast.stmt
    ) -> None:
        match target:
            case ast.Name():
                self._bind(target.id, fact, value)
            case ast.Tuple() | ast.List():
                self._unpack(target, fact, value, statement)
            case ast.Subscript():
                self._write(target, statement)
            case ast.Starred():
                self._assign(target.value, UNKNOWN, None, statement)
            case _:
                self.eval(target)

    def _unpack(
        self, target: ast.Tuple | ast.List, fact: Fact, value: ast.expr | None, statement: ast.stmt
    ) -> None:
        parts = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        for place, element in enumerate(target.elts):
            if parts is not None and len(parts) == len(target.elts):
                self._assign(element, self.scopes.fact(parts[place]), parts[place], statement)
            else:
                self._assign(element, _item(fact), None, statement)

    def _write(self, target: ast.Subscript, statement: ast.stmt) -> None:
        self.eval(target)
        base = self.scopes.fact(target.value)
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            self.scopes.writes.append(Write(target, base, statement, self._path))

    def _augment(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        target = statement.target
        if isinstance(target, ast.Subscript):
            self._write(target, statement)
            self.scopes.sums.append((self.scopes.fact(target.value), self._path))
        elif isinstance(target, ast.Name):
            read = ast.copy_location(ast.Name(target.id, ast.Load()), target)
            before = self.eval(read)
            self.scopes.sums.append((before, self._path))
            if not before.is_tile:
                self._bind(target.id, self._combine(statement.value, [before, value]), None)

    def _for(self, statement: ast.For) -> None:
        fact = self.eval(statement.iter)
        call = statement.iter
        dotted = self._dotted(call.func) if isinstance(call, ast.Call) else None
        kind = LOOPS.get(dotted or "", LoopKind.OTHER)
        older = self.scopes.is_older
        name = statement.target.id if isinstance(statement.target, ast.Name) else None
        closes = older and kind in _CLOSING
        region = Region(statement, kind, closes, name)
        symbolic = kind in SYMBOLIC and (older or kind is LoopKind.DYNAMIC)
        index = UNKNOWN if kind is LoopKind.OTHER else NUMBER
        if symbolic:
            index = Fact(Kind.LOOP, statement.iter, loops=frozenset({region}) | fact.loops)
        self._assign(statement.target, index, None, statement)
        self._inside(region, statement.body)
        self._body(statement.orelse)

    def _inside(self, region: Region, body: list[ast.stmt]) -> None:
        outer: Path = self._path
        self._path = (*outer, region)
        self._body(body)
        self._path = outer

    def _if(self, statement: ast.If) -> None:
        test = self.eval(statement.test)
        self.scopes.branches.append(Branch(statement, self._path))
        closes = self.scopes.is_older and test.kind in _VARYING
        before = dict(self._env)
        self._inside(Region(statement, None, closes), statement.body)
        then, self._env = self._env, dict(before)
        self._inside(Region(statement, None, closes), statement.orelse)
        _merge(self._env, then, _ends(statement.body), _ends(statement.orelse))


def _merge(env: dict[str, Binding], then: dict[str, Binding], first: bool, second: bool) -> None:
    """Join what two branches leave into ``env``; a branch that returns leaves nothing."""
    if first:
        return
    if second:
        env.clear()
        env.update(then)
        return
    for name, one in then.items():
        two = env.get(name)
        if two is None:
            env[name] = one
        elif one is not two:
            fact = joined(one.fact, two.fact)
            env[name] = Binding(name, two.statement, two.value, fact, two.before, two.path)


def _ends(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def _item(fact: Fact) -> Fact:
    """One of the parts that a value is unpacked into."""
    if fact.kind is Kind.GRID:
        return Fact(Kind.INDEX, fact.node, is_grid=True)
    if fact.kind is Kind.NUMBER:
        return NUMBER
    return UNKNOWN


def _is_plain(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN
