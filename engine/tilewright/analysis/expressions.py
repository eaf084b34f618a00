"""Expressions of a kernel to values: the half of the abstract pass that knows calls.

Nothing is guessed: what is not modelled becomes an opaque value, and a call of unknown code
counts as a write to unknown memory.
"""

import ast

from tilewright.analysis.pointer_bases import pointer_base
from tilewright.analysis.values import Access, Called, Flow, Value
from tilewright.source.names import Names

TL = "triton.language."
_LOADS = {TL + "load": "load"}
_STORES = {TL + "store": "store"}
_ATOMICS = frozenset(
    TL + f"atomic_{kind}" for kind in ("add", "max", "min", "and", "or", "xor", "cas", "xchg")
)
_IMPURE = frozenset(
    TL + name for name in ("inline_asm_elementwise", "debug_barrier", "store_tensor_descriptor")
)
PURE_BUILTINS = frozenset({"min", "max", "abs", "len", "float", "int", "range", "print", "bool"})
_PURE_TRITON = frozenset({"triton.cdiv", "triton.next_power_of_2", ""})
_WIDE = ("triton_lang_extension.program_id", "triton_lang_extension.num_programs")
"""Helpers of a widely used library that give the builtin of their name as an int64."""
_PURE_LIBRARIES = ("libdevice", "tl_extra_shim")
_CASTS = frozenset({TL + "cast"})
_MAX_DEPTH = 80


def writes_nothing(dotted: str) -> bool:
    """Whether a call of this name is known to leave memory alone."""
    if dotted in _STORES or dotted in _ATOMICS or dotted in _IMPURE:
        return False
    if dotted.endswith(_WIDE) or any(part in _PURE_LIBRARIES for part in dotted.split(".")[:-1]):
        return True
    return dotted.startswith((TL, "triton.jit")) or dotted in _PURE_TRITON


def method_writes_nothing(name: str) -> bool:
    """Whether a method of a tile, pointer or descriptor is known to leave memory alone."""
    return name not in ("store", "scatter") and not name.startswith("atomic")


class Expressions:
    """Evaluates expressions of one kernel in the order the statements ask for them."""

    def __init__(self, names: Names, pure: frozenset[str]) -> None:
        self._names = names
        self._pure = pure
        self._env: dict[str, Value] = {}
        self._flow = Flow()
        self._table = self._flow.table
        self._loops: tuple[int, ...] = ()
        self._branches: tuple[int, ...] = ()
        self._next = 0
        self._depth = 0
        self._statement: ast.stmt = ast.Pass()

    def _count(self) -> int:
        self._next += 1
        return self._next

    def _opaque(self, *operands: Value) -> Value:
        return self._table.opaque(*operands, varies=frozenset(self._loops))

    def _item(self, value: Value, position: int) -> Value:
        if value.op == "tuple" and position < len(value.operands):
            return value.operands[position]
        return self._table.make("item", value, detail=position)

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
            if not method_writes_nothing(name):
                self._writes_unknown()
            return self._unknown_call(name, [owner, *positional], keywords, is_method=True)
        return self._table.make(
            "method", owner, *positional, *keywords.values(), detail=name, keywords=tuple(keywords)
        )

    def _function(
        self, node: ast.Call, dotted: str, positional: list[Value], keywords: dict[str, Value]
    ) -> Value:
        if dotted in _LOADS or dotted in _STORES or dotted in _ATOMICS:
            return self._access(node, dotted, positional, keywords)
        if dotted.endswith(_WIDE):
            builtin = TL + dotted.rpartition(".")[2]
            narrow = self._function(node, builtin, positional, keywords)
            return self._table.make("cast", narrow, detail="int64")
        if dotted == TL + "program_id" and (positional or keywords):
            axis = positional[0] if positional else next(iter(keywords.values()))
            return self._table.make("program_id", detail=axis.detail)
        if dotted == TL + "arange" and len(positional) == 2:
            return self._table.make("arange", *positional)
        if dotted in _CASTS and len(positional) == 2 and positional[1].op == "global":
            return self._table.make("cast", positional[0], detail=_type_name(positional[1]))
        if not (writes_nothing(dotted) or dotted in self._pure or dotted in PURE_BUILTINS):
            # Unknown code may give another result each time, and may write memory.
            self._writes_unknown()
            return self._unknown_call(dotted, positional, keywords)
        op = "dot" if dotted == TL + "dot" else "call"
        operands = (*positional, *keywords.values())
        return self._table.make(op, *operands, detail=dotted, keywords=tuple(keywords))

    def _unknown_call(
        self, name: str, given: list[Value], keywords: dict[str, Value], is_method: bool = False
    ) -> Value:
        """An opaque value that remembers what was called."""
        value = self._opaque(*given, *keywords.values())
        self._flow.sources[value] = Called(name, is_method, tuple(given), tuple(keywords.items()))
        return value

    def _access(
        self, node: ast.Call, dotted: str, positional: list[Value], keywords: dict[str, Value]
    ) -> Value:
        kind = _LOADS.get(dotted) or _STORES.get(dotted) or "atomic"
        order = ("pointer", "mask", "other") if kind == "load" else ("pointer", "value", "mask")
        given = {**dict(zip(order, positional, strict=False)), **keywords}
        pointer = given.get("pointer") or self._opaque()
        mask, other = _none_is_none(given.get("mask")), _none_is_none(given.get("other"))
        if kind == "load":
            result = self._loaded(pointer, mask, other)
        else:
            result = self._unknown_call(dotted, [pointer], {})
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
