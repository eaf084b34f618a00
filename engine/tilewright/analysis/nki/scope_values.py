"""From an expression to what it stands for: the rules, one for each form of expression."""

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tilewright.analysis.nki.scopes import (
    UNKNOWN,
    Binding,
    Branch,
    Call,
    Fact,
    Kind,
    Path,
    Read,
    Region,
    Scopes,
)
from tilewright.knowledge.nki import NkiFile, nki_interface
from tilewright.source.model import NkiFlavour
from tilewright.source.names import Names

_VIEWS = frozenset(
    (
        *("reshape", "view", "broadcast_to", "broadcast", "expand_dims", "expand_dim", "ap"),
        *("slice", "select", "permute", "squeeze_dim", "flatten_dims", "reshape_dim"),
        *("rearrange", "reinterpret_cast", "indirect", "vector_select"),
    )
)
_NUMBERS = frozenset({"shape", "dtype", "ndim", "size", "itemsize", "buffer", "strides", "name"})
_AXES = frozenset({"p", "x", "y", "z", "w"})
_STORED = frozenset({Kind.TILE, Kind.TENSOR, Kind.VIEW, Kind.ARGUMENT})
_BUILTINS = frozenset(
    {"int", "float", "len", "min", "max", "abs", "round", "divmod", "bool", "str"}
)
NUMBER = Fact(Kind.NUMBER)


class Values:
    """Evaluates expressions in an environment of local names."""

    def __init__(self, names: Names, scopes: Scopes) -> None:
        flavour = scopes.flavour or NkiFlavour.NEURONXCC
        self.scopes = scopes
        self._names = names
        self._offers: NkiFile = nki_interface(flavour.value)
        self._env: dict[str, Binding] = {}
        self._path: Path = ()
        self._statement: ast.stmt = ast.Pass()

    def eval(self, node: ast.expr) -> Fact:
        """What a node stands for here; remembered by node."""
        rule = _RULES.get(type(node))
        fact = self._parts(node) if rule is None else rule(self, node)
        self.scopes.facts[node] = fact
        return fact

    def _parts(self, node: ast.AST) -> Fact:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.eval(child)
            elif isinstance(child, ast.keyword):
                self.eval(child.value)
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> Fact:
        return NUMBER

    def _name(self, node: ast.Name) -> Fact:
        binding = self._env.get(node.id)
        if binding is None:
            return UNKNOWN
        self.scopes.reads.append(Read(node, binding, self._path))
        self.scopes.bound[node] = binding
        return binding.fact

    def _attribute(self, node: ast.Attribute) -> Fact:
        base = self.eval(node.value)
        if base.kind in _STORED and node.attr in _NUMBERS:
            return NUMBER
        if base.kind is Kind.GRID and node.attr in _AXES:
            return Fact(Kind.INDEX, node, is_grid=True)
        if base.kind in _STORED and node.attr == "T":
            return Fact(Kind.TILE, node, path=self._path)
        return UNKNOWN

    def _subscript(self, node: ast.Subscript) -> Fact:
        if self._names.resolve(node.value) == "nki.language.mgrid":
            self._parts(node.slice)
            return Fact(Kind.GRID, node)
        base = self.eval(node.value)
        index = self.eval(node.slice)
        self.scopes.subscripts.append((node, self._path))
        if base.kind is Kind.INDEX:
            return Fact(Kind.INDEX, node, loops=base.loops, is_grid=base.is_grid)
        if base.kind in _STORED:
            return Fact(Kind.VIEW, node, base=base, loops=index.loops, path=base.path)
        if base.kind is Kind.NUMBER:
            return NUMBER
        return UNKNOWN

    def _slice(self, node: ast.Slice) -> Fact:
        given = [self.eval(part) for part in (node.lower, node.upper, node.step) if part]
        return Fact(Kind.SLICE, loops=_loops(given))

    def _tuple(self, node: ast.Tuple | ast.List | ast.Set) -> Fact:
        return Fact(Kind.LIST, node, loops=_loops([self.eval(part) for part in node.elts]))

    def _binary(self, node: ast.BinOp) -> Fact:
        return self._combine(node, [self.eval(node.left), self.eval(node.right)])

    def _combine(self, node: ast.expr, given: list[Fact]) -> Fact:
        loops = _loops(given)
        kinds = {fact.kind for fact in given}
        if any(fact.is_tile for fact in given):
            return Fact(Kind.TILE, node, path=self._path)
        if Kind.INDEX in kinds:
            shapes = [fact.bare for fact in given if fact.kind is Kind.INDEX]
            grid = any(fact.is_grid for fact in given)
            return Fact(Kind.INDEX, node, loops=loops, bare=all(shapes), is_grid=grid)
        if Kind.MASK in kinds:
            return Fact(Kind.MASK, node, loops=loops)
        if Kind.LOOP in kinds and kinds <= {Kind.LOOP, Kind.NUMBER, Kind.UNKNOWN}:
            return Fact(Kind.LOOP, node, loops=loops)
        return NUMBER if kinds == {Kind.NUMBER} else UNKNOWN

    def _unary(self, node: ast.UnaryOp) -> Fact:
        operand = self.eval(node.operand)
        if isinstance(node.op, ast.Not):
            self.scopes.logic.append(node)
            return NUMBER if operand.kind is Kind.NUMBER else UNKNOWN
        return self._combine(node, [operand])

    def _logic(self, node: ast.BoolOp) -> Fact:
        given = [self.eval(part) for part in node.values]
        self.scopes.logic.append(node)
        if any(fact.kind in (Kind.MASK, Kind.INDEX) for fact in given):
            return Fact(Kind.MASK, node, loops=_loops(given))
        return Fact(Kind.LOOP, node, loops=_loops(given)) if _loops(given) else UNKNOWN

    def _compare(self, node: ast.Compare) -> Fact:
        given = [self.eval(part) for part in (node.left, *node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return NUMBER
        if len(node.ops) > 1:
            self.scopes.logic.append(node)
        fact = self._combine(node, given)
        if fact.kind is Kind.INDEX:
            return Fact(Kind.MASK, node, loops=fact.loops)
        return fact

    def _choice(self, node: ast.IfExp) -> Fact:
        self.eval(node.test)
        self.scopes.branches.append(Branch(node, self._path))
        return joined(self.eval(node.body), self.eval(node.orelse))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Fact:
        outer = dict(self._env)
        for generator in node.generators:
            self.eval(generator.iter)
            for name in _targets(generator.target):
                self._bind(name, UNKNOWN, None)
            for test in generator.ifs:
                self.eval(test)
        self.eval(node.elt)
        self._env = outer
        return Fact(Kind.LIST, node)

    def _hide(self, node: ast.expr) -> Fact:
        self.scopes.hidden.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        return UNKNOWN

    def _dict_comprehension(self, node: ast.DictComp) -> Fact:
        return self._hide(node)

    def _lambda(self, node: ast.Lambda) -> Fact:
        return self._hide(node)

    def _starred(self, node: ast.Starred) -> Fact:
        self.eval(node.value)
        return UNKNOWN

    def _call(self, node: ast.Call) -> Fact:
        dotted = self._dotted(node.func)
        owner = UNKNOWN
        if dotted is None and isinstance(node.func, ast.Attribute):
            owner = self.eval(node.func.value)
        elif dotted is None:
            self.eval(node.func)
        given = [self.eval(a) for a in node.args] + [self.eval(k.value) for k in node.keywords]
        self.scopes.calls.append(Call(node, dotted, self._path, self._statement))
        if owner.kind in _STORED and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func.attr, owner)
        return self._function(node, dotted, given)

    def _method(self, node: ast.Call, name: str, owner: Fact) -> Fact:
        if name in _VIEWS:
            return Fact(Kind.VIEW, node, base=owner, path=owner.path)
        if name == "astype":
            return Fact(Kind.TILE, node, path=self._path)
        return UNKNOWN

    def _function(self, node: ast.Call, dotted: str | None, given: list[Fact]) -> Fact:
        made = self._offers.makes(dotted)
        if made == "tile":
            return Fact(Kind.TILE, node, path=self._path)
        if made == "tensor":
            return Fact(Kind.TENSOR, node, buffer=self._buffer(node, dotted), path=self._path)
        if made == "index":
            return Fact(Kind.INDEX, node, bare=True)
        if made == "slice":
            return Fact(Kind.SLICE, node, loops=_loops(given[:1]))
        if made == "number":
            return NUMBER
        if dotted in _BUILTINS and all(f.kind in (Kind.NUMBER, Kind.LOOP) for f in given):
            return Fact(Kind.LOOP, node, loops=_loops(given)) if _loops(given) else NUMBER
        return UNKNOWN

    def _buffer(self, node: ast.Call, dotted: str | None) -> str:
        """The buffer of a new tensor: sbuf unless another is named; "" where it is not a name."""
        if dotted in ("nki.language.shared_constant", "nki.language.shared_identity_matrix"):
            return "nki.language.hbm"
        given = next((k.value for k in node.keywords if k.arg == "buffer"), None)
        if given is None:
            short = any(k.arg is None for k in node.keywords) or len(node.args) > 2
            return "" if short else "nki.language.sbuf"
        found = self._dotted(given)
        return found if found is not None and found.startswith("nki.language.") else ""

    def _dotted(self, node: ast.expr) -> str | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self._env:
            return self._names.resolve(node)
        return None

    def _walrus(self, node: ast.NamedExpr) -> Fact:
        fact = self.eval(node.value)
        self._bind(node.target.id, fact, node.value)
        return fact

    def _bind(self, name: str, fact: Fact, value: ast.expr | None) -> None:
        before = self._env.get(name)
        binding = Binding(name, self._statement, value, fact, before, self._path)
        self._env[name] = binding
        self.scopes.bindings.append(binding)


def joined(one: Fact, two: Fact) -> Fact:
    """What holds whichever of two values it is."""
    if one is two:
        return one
    if one.kind is not two.kind or one.kind is Kind.VIEW:
        return UNKNOWN
    if one.kind is Kind.TENSOR and one.buffer != two.buffer:
        return UNKNOWN
    path = one.path if len(one.path) <= len(two.path) else two.path
    return Fact(
        one.kind,
        one.node,
        buffer=one.buffer,
        loops=one.loops | two.loops,
        bare=one.bare and two.bare,
        path=path,
    )


def _loops(given: Iterable[Fact]) -> frozenset[Region]:
    return frozenset().union(*(fact.loops for fact in given))


def _targets(target: ast.expr) -> list[str]:
    return [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]


_RULES: Mapping[type[ast.expr], Callable[[Values, Any], Fact]] = {
    ast.Constant: Values._constant,
    ast.Name: Values._name,
    ast.Attribute: Values._attribute,
    ast.Subscript: Values._subscript,
    ast.Slice: Values._slice,
    ast.Tuple: Values._tuple,
    ast.List: Values._tuple,
    ast.Set: Values._tuple,
    ast.BinOp: Values._binary,
    ast.UnaryOp: Values._unary,
    ast.BoolOp: Values._logic,
    ast.Compare: Values._compare,
    ast.IfExp: Values._choice,
    ast.ListComp: Values._comprehension,
    ast.GeneratorExp: Values._comprehension,
    ast.SetComp: Values._comprehension,
    ast.DictComp: Values._dict_comprehension,
    ast.Lambda: Values._lambda,
    ast.Starred: Values._starred,
    ast.Call: Values._call,
    ast.NamedExpr: Values._walrus,
}
