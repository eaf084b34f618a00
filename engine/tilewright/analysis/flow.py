"""From a kernel's statements to its values: one abstract pass in program order.

A name set in a loop is a ``phi`` at the loop's head and an ``after`` behind it; a name set
in one branch of a conditional is a ``select``. Nothing is guessed: what the pass does not
model becomes an opaque value.
"""

import ast
from functools import lru_cache

from tilewright.analysis.bases import pointer_base
from tilewright.analysis.values import Access, Definition, Flow, Loop, Value, ValueTable
from tilewright.source.model import Kernel, Module
from tilewright.source.names import Names

TL = "triton.language."
_LOADS = {TL + "load": "load"}
_STORES = {TL + "store": "store"}
_ATOMICS = frozenset(
    TL + f"atomic_{kind}" for kind in ("add", "max", "min", "and", "or", "xor", "cas", "xchg")
)
_RANGES = {"range": False, TL + "range": False, TL + "static_range": True}
_IMPURE = frozenset(
    TL + name for name in ("inline_asm_elementwise", "debug_barrier", "store_tensor_descriptor")
)
_PURE_BUILTINS = frozenset({"min", "max", "abs", "len", "float", "int", "range", "print", "bool"})
_CASTS = frozenset({TL + "cast"})
_MAX_DEPTH = 150


class _Subject:
    """A node of a module, equal to itself alone: what is found out is kept by node."""

    __slots__ = ("module", "node")

    def __init__(self, module: Module, node: ast.AST) -> None:
        self.module = module
        self.node = node

    def __hash__(self) -> int:
        return id(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Subject) and other.node is self.node


def flow_of(module: Module, kernel: Kernel) -> Flow:
    """The dataflow of a kernel of ``module``; computed once for each parsed kernel."""
    return _flow(_Subject(module, kernel.node))


@lru_cache(maxsize=256)
def _flow(subject: _Subject) -> Flow:
    module, node = subject.module, subject.node
    assert isinstance(node, ast.FunctionDef)
    return _Builder(module.names, _pure_helpers(_Subject(module, module.tree))).build(node)


@lru_cache(maxsize=64)
def _pure_helpers(subject: _Subject) -> frozenset[str]:
    """The file's jit functions that write no memory and call nothing unknown."""
    pure = set()
    module = subject.module
    for kernel in module.kernels:
        dotted = {
            module.names.resolve(n.func) or ""
            for n in ast.walk(kernel.node)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name | ast.Attribute)
        }
        if all(_writes_nothing(name) or name in _PURE_BUILTINS for name in dotted):
            pure.add(kernel.name)
    return frozenset(pure)


def _writes_nothing(dotted: str) -> bool:
    if dotted in _STORES or dotted in _ATOMICS or dotted in _IMPURE:
        return False
    return dotted.startswith((TL, "triton.jit")) or dotted in ("triton.cdiv", "")


class _Builder:
    def __init__(self, names: Names, pure: frozenset[str]) -> None:
        self._names = names
        self._pure = pure
        self._table = ValueTable()
        self._env: dict[str, Value] = {}
        self._flow = Flow()
        self._loops: tuple[int, ...] = ()
        self._branches: tuple[int, ...] = ()
        self._next = 0
        self._depth = 0
        self._statement: ast.stmt = ast.Pass()

    def build(self, node: ast.FunctionDef) -> Flow:
        args = node.args
        for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            self._env[parameter.arg] = self._table.make("param", detail=parameter.arg)
        self._body(node.body)
        return self._flow

    def _count(self) -> int:
        self._next += 1
        return self._next

    # Statements

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
            case ast.Expr(value=ast.expr() as used) | ast.Return(value=ast.expr() as used):
                self.eval(used)
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

    def _item(self, value: Value, position: int) -> Value:
        if value.op == "tuple" and position < len(value.operands):
            return value.operands[position]
        return self._table.make("item", value, detail=position)

    def _augment(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        if not isinstance(statement.target, ast.Name):
            self.eval(statement.target)
            return
        before = self._name(statement.target)
        result = self._table.make("binary", before, value, detail=type(statement.op).__name__)
        self._assign(statement.target, result, statement)

    def _forget(self, statement: ast.stmt) -> None:
        for name in _assigned([statement]):
            self._env[name] = self._opaque()

    def _opaque(self, *operands: Value) -> Value:
        return self._table.opaque(*operands, varies=frozenset(self._loops))

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
        for name in _assigned(statement.body):
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
            value = Value("after", (*phi.operands, end), f"{number}:{name}", frozenset(outer))
            self._env[name] = value

    def _if(self, statement: ast.If) -> None:
        condition = self.eval(statement.test)
        before = dict(self._env)
        outer = self._branches
        self._branches = (*outer, self._count())
        self._body(statement.body)
        then, self._env = self._env, before
        self._branches = (*outer, self._count())
        self._env = dict(before)
        self._body(statement.orelse)
        self._branches = outer
        for name in then.keys() | self._env.keys():
            one, two = then.get(name), self._env.get(name)
            if one is not None and two is not None and one is not two:
                self._env[name] = self._table.make("select", condition, one, two)
            elif one is None or two is None:
                self._env[name] = self._opaque()

    # Expressions

    def eval(self, node: ast.expr) -> Value:
        """The value of an expression, remembered for its node."""
        self._depth += 1
        value = self._opaque() if self._depth > _MAX_DEPTH else self._eval(node)
        self._depth -= 1
        self._flow.values[node] = value
        return value

    def _eval(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return self._constant(node.value)
            case ast.Name():
                self._flow.uses.setdefault(node.id, []).append(node)
                return self._name(node)
            case ast.Call():
                return self._call(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Tuple() | ast.List():
                return self._table.make("tuple", *map(self.eval, node.elts))
            case _:
                return self._operation(node)

    def _operation(self, node: ast.expr) -> Value:
        match node:
            case ast.BinOp():
                left, right = self.eval(node.left), self.eval(node.right)
                return self._table.make("binary", left, right, detail=type(node.op).__name__)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self._table.make("const", detail=-number)
            case ast.UnaryOp():
                inner = self.eval(node.operand)
                return self._table.make("unary", inner, detail=type(node.op).__name__)
            case ast.Compare(ops=[op], comparators=[right]):
                sides = self.eval(node.left), self.eval(right)
                return self._table.make("compare", *sides, detail=type(op).__name__)
            case ast.BoolOp():
                parts = map(self.eval, node.values)
                return self._table.make("bool", *parts, detail=type(node.op).__name__)
            case ast.IfExp():
                parts = map(self.eval, (node.test, node.body, node.orelse))
                return self._table.make("select", *parts)
            case _:
                return self._unmodelled(node)

    def _unmodelled(self, node: ast.expr) -> Value:
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return self._opaque(*map(self.eval, children))

    def _constant(self, value: object) -> Value:
        if value is None or isinstance(value, str | int | float):
            return self._table.make("const", detail=value)
        return self._opaque()

    def _name(self, node: ast.Name) -> Value:
        if node.id in self._env:
            return self._env[node.id]
        return self._table.make("global", detail=self._names.resolve(node) or node.id)

    def _attribute(self, node: ast.Attribute) -> Value:
        base = self.eval(node.value)
        if base.op == "global":
            return self._table.make("global", detail=f"{base.detail}.{node.attr}")
        return self._table.make("attribute", base, detail=node.attr)

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.eval(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        form = [_axis(part) for part in parts]
        if None not in form:
            return self._table.make("expand", value, detail=",".join(str(f) for f in form))
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
            return self._item(value, node.slice.value)
        return self._opaque(value, *(self.eval(p) for p in parts if not isinstance(p, ast.Slice)))

    def _call(self, node: ast.Call) -> Value:
        dotted = self._dotted(node.func)
        method = None
        if dotted is None and isinstance(node.func, ast.Attribute):
            method = self.eval(node.func.value)
        positional = [self.eval(_unstar(a)) for a in node.args]
        keywords = {k.arg: self.eval(k.value) for k in node.keywords if k.arg is not None}
        hidden = any(isinstance(a, ast.Starred) for a in node.args) or any(
            k.arg is None for k in node.keywords
        )
        if hidden:
            self._writes_unknown()
            return self._opaque(*positional, *keywords.values())
        if method is not None and isinstance(node.func, ast.Attribute):
            value = self._method(node.func.attr, method, positional, keywords)
        elif dotted is not None:
            value = self._function(node, dotted, positional, keywords)
        else:
            self._writes_unknown()
            value = self._opaque(*positional, *keywords.values())
        self._flow.placed.append((node, value, self._loops))
        return value

    def _dotted(self, func: ast.expr) -> str | None:
        root = func
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self._env:
            return self._names.resolve(func)
        return None

    def _method(
        self, name: str, owner: Value, positional: list[Value], keywords: dict[str, Value]
    ) -> Value:
        if name == "to" and positional and positional[0].op == "global":
            return self._table.make("cast", owner, detail=_type_name(positional[0]))
        if name == "to" and positional:
            return self._table.make("cast", owner, positional[0])
        if name in ("load", "store", "gather", "scatter") or name.startswith("atomic"):
            if name != "load" and name != "gather":
                self._writes_unknown()
            return self._opaque(owner, *positional, *keywords.values())
        return self._table.make(
            "method", owner, *positional, *keywords.values(), detail=name, keywords=tuple(keywords)
        )

    def _function(
        self, node: ast.Call, dotted: str, positional: list[Value], keywords: dict[str, Value]
    ) -> Value:
        if dotted in _LOADS or dotted in _STORES or dotted in _ATOMICS:
            return self._access(node, dotted, positional, keywords)
        if dotted == TL + "program_id" and (positional or keywords):
            axis = positional[0] if positional else next(iter(keywords.values()))
            return self._table.make("program_id", detail=axis.detail)
        if dotted == TL + "arange" and len(positional) == 2:
            return self._table.make("arange", *positional)
        if dotted in _CASTS and len(positional) == 2 and positional[1].op == "global":
            return self._table.make("cast", positional[0], detail=_type_name(positional[1]))
        if not (_writes_nothing(dotted) or dotted in self._pure or dotted in _PURE_BUILTINS):
            # Unknown code may give another result each time, and may write memory.
            self._writes_unknown()
            return self._opaque(*positional, *keywords.values())
        op = "dot" if dotted == TL + "dot" else "call"
        operands = (*positional, *keywords.values())
        return self._table.make(op, *operands, detail=dotted, keywords=tuple(keywords))

    def _access(
        self, node: ast.Call, dotted: str, positional: list[Value], keywords: dict[str, Value]
    ) -> Value:
        kind = _LOADS.get(dotted) or _STORES.get(dotted) or "atomic"
        order = ("pointer", "mask", "other") if kind == "load" else ("pointer", "value", "mask")
        given = {**dict(zip(order, positional, strict=False)), **keywords}
        pointer = given.get("pointer") or self._opaque()
        mask, other = _none_is_none(given.get("mask")), _none_is_none(given.get("other"))
        result = self._loaded(pointer, mask, other) if kind == "load" else self._opaque(pointer)
        self._flow.accesses.append(
            Access(
                kind=kind,
                node=node,
                pointer=pointer,
                mask=mask,
                other=other,
                result=result if kind == "load" else given.get("value", given.get("val")),
                base=pointer_base(pointer),
                loops=self._loops,
                branches=self._branches,
                order=self._count(),
                statement=self._statement,
            )
        )
        return result

    def _loaded(self, pointer: Value, mask: Value | None, other: Value | None) -> Value:
        """A loaded tile; no two loads are the same value, memory may change between."""
        given = {k: v for k, v in (("mask", mask), ("other", other)) if v is not None}
        return self._table.make(
            "load", pointer, *given.values(), detail=self._count(), keywords=tuple(given)
        )

    def _writes_unknown(self) -> None:
        self._flow.may_write_unknown.append((self._count(), self._loops))


def _none_is_none(value: Value | None) -> Value | None:
    if value is not None and value.op == "const" and value.detail is None:
        return None
    return value


def _unstar(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Starred) else node


def _axis(part: ast.expr) -> str | None:
    """ ":" or "None" of a tile subscript such as ``[:, None]``."""
    if isinstance(part, ast.Slice) and part.lower is part.upper is part.step is None:
        return ":"
    if isinstance(part, ast.Constant) and part.value is None:
        return "None"
    return None


def _type_name(value: Value) -> str:
    return str(value.detail).removeprefix(TL)


def _assigned(body: list[ast.stmt]) -> list[str]:
    """Names that statements may assign, in order, each once."""
    names: dict[str, None] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
    return list(names)
