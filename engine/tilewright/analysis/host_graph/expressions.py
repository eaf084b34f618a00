"""Host expressions to values and uses: what torch is asked, what a launch is given."""

import ast
from collections.abc import Mapping

from tilewright.analysis.host_graph.model import (
    HostGraph,
    HostValue,
    Origin,
    Place,
    Use,
    UseKind,
)
from tilewright.analysis.host_graph.operations import (
    ALLOCATIONS,
    LIKE,
    NEW_METHODS,
    SHAPE_ATTRIBUTES,
    SHAPE_FUNCTIONS,
    SHAPE_METHODS,
    VIEW_ATTRIBUTES,
    VIEWS,
    WRAPPERS,
    short,
)
from tilewright.analysis.host_graph.roles import Role, roles_of
from tilewright.python_syntax import dotted_text
from tilewright.source.model import Launch, Module

_READS_BACK = frozenset({"int", "float", "bool", "print", "str", "min", "max", "sum", "abs"})
_MAX_DEPTH = 60
_UNSURE = Role(reads=True, writes=True, is_sure=False)


class HostExpressions:
    """Evaluates the expressions of one host function in program order."""

    def __init__(self, module: Module, node: ast.FunctionDef) -> None:
        self._module = module
        self._graph = HostGraph(node)
        self._env: dict[str, HostValue] = {}
        self._branches: tuple[int, ...] = ()
        self._loops: tuple[int, ...] = ()
        self._next = 0
        self._depth = 0

    def _count(self) -> int:
        self._next += 1
        return self._next

    def _place(self) -> Place:
        return Place(self._count(), self._branches, self._loops)

    def _make(
        self, origin: Origin, operation: str = "", *sources: HostValue, node: ast.expr | None = None
    ) -> HostValue:
        value = HostValue(origin, operation, sources, node, self._place())
        return self._graph.add_value(value)

    def _use(
        self,
        value: HostValue,
        kind: UseKind,
        node: ast.expr | ast.stmt,
        result: HostValue | None = None,
    ) -> None:
        if not value.is_number:
            self._graph.add_use(Use(value, kind, node, self._place(), result))

    def _number(self, node: ast.expr | None = None) -> HostValue:
        return self._make(Origin.NUMBER, node=node)

    def escape(self, value: HostValue, node: ast.expr | ast.stmt) -> None:
        """The value leaves the function, or goes where it is not seen."""
        self._use(value, UseKind.ESCAPE, node)

    def eval(self, node: ast.expr) -> HostValue:
        """The value of an expression; every use in it is noted."""
        self._depth += 1
        try:
            if self._depth > _MAX_DEPTH:
                return self._escaping(node)
            return self._eval(node)
        finally:
            self._depth -= 1

    def _eval(self, node: ast.expr) -> HostValue:
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._env.get(node.id) or self._make(Origin.UNKNOWN, node.id, node=node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Call():
                return self._call(node)
            case ast.BinOp():
                return self._operator(node, type(node.op).__name__, [node.left, node.right])
            case ast.UnaryOp():
                return self._operator(node, type(node.op).__name__, [node.operand])
            case ast.Compare():
                return self._compare(node)
            case ast.Slice():
                return self._slice(node)
            case _:
                return self._container(node)

    def _slice(self, node: ast.Slice) -> HostValue:
        """The bounds of a part; what is read for them is noted."""
        for part in (node.lower, node.upper, node.step):
            if part is not None:
                self.eval(part)
        return self._number(node)

    def _container(self, node: ast.expr) -> HostValue:
        match node:
            case ast.Tuple() | ast.List() | ast.Set():
                return self._make(Origin.JOINED, "tuple", *map(self.eval, node.elts), node=node)
            case ast.Dict():
                parts = [part for part in (*node.keys, *node.values) if part is not None]
                return self._make(Origin.JOINED, "tuple", *map(self.eval, parts), node=node)
            case ast.IfExp():
                self.eval(node.test)
                return self._make(
                    Origin.JOINED, "", self.eval(node.body), self.eval(node.orelse), node=node
                )
            case ast.Starred():
                return self.eval(node.value)
            case ast.NamedExpr():
                value = self.eval(node.value)
                self._env[node.target.id] = value
                return value
            case ast.BoolOp():
                return self._make(Origin.JOINED, "", *map(self.eval, node.values), node=node)
            case ast.Lambda():
                return self._lambda(node)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._comprehension(node)
            case _:
                return self._escaping(node)

    def _escaping(self, node: ast.expr) -> HostValue:
        """Code that is not modelled: every name in it escapes."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in self._env:
                self.escape(self._env[part.id], node)
        return self._make(Origin.UNKNOWN, node=node)

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> HostValue:
        """What it goes over and what it makes of each element; every name in it escapes too."""
        outer = dict(self._env)
        self._loops = (*self._loops, self._count())
        for generator in node.generators:
            self.eval(generator.iter)
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name):
                    self._env[part.id] = self._make(Origin.UNKNOWN, "item")
        self.eval(node.elt)
        self._env, self._loops = outer, self._loops[:-1]
        return self._escaping(node)

    def _lambda(self, node: ast.Lambda) -> HostValue:
        """Mostly a grid; its body sees the names as they are here."""
        outer = dict(self._env)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self._env[argument.arg] = self._number()
        self.escape(self.eval(node.body), node)
        self._env = outer
        return self._make(Origin.UNKNOWN, "lambda", node=node)

    def _operator(self, node: ast.expr, operation: str, parts: list[ast.expr]) -> HostValue:
        values = [self.eval(part) for part in parts]
        if all(value.is_number for value in values):
            return self._number(node)
        return self._computed(node, operation, values)

    def _computed(
        self,
        node: ast.expr,
        operation: str,
        values: list[HostValue],
        kind: Origin = Origin.COMPUTED,
    ) -> HostValue:
        result = self._make(kind, operation, *values, node=node)
        for value in values:
            self._use(value, UseKind.OPERATION, node, result)
        return result

    def _compare(self, node: ast.Compare) -> HostValue:
        values = [self.eval(part) for part in (node.left, *node.comparators)]
        if all(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            for value in values:
                self._use(value, UseKind.SHAPE, node)
            return self._number(node)
        if all(value.is_number for value in values):
            return self._number(node)
        return self._computed(node, "compare", values)

    def _attribute(self, node: ast.Attribute) -> HostValue:
        text = dotted_text(node)
        if text is not None and text in self._env:
            return self._env[text]
        root = _root(node)
        if isinstance(root, ast.Name) and root.id not in self._env:
            return self._make(Origin.UNKNOWN, text or "", node=node)
        base = self.eval(node.value)
        if node.attr in SHAPE_ATTRIBUTES:
            self._use(base, UseKind.SHAPE, node)
            return self._number(node)
        if node.attr in VIEW_ATTRIBUTES and not _is_state(base):
            return self._make(Origin.VIEW, f".{node.attr}", base, node=node)
        if text is not None and text.startswith("self."):
            value = self._make(Origin.ATTRIBUTE, text, node=node)
            self._env[text] = value
            return value
        if base.is_number:
            return self._number(node)
        self._use(base, UseKind.SHAPE, node)
        return self._make(Origin.UNKNOWN, f".{node.attr}", base, node=node)

    def _subscript(self, node: ast.Subscript) -> HostValue:
        base = self.eval(node.value)
        index = self.eval(node.slice)
        if base.is_number:
            return self._number(node)
        if base.operation == "tuple" and base.origin is Origin.JOINED:
            place = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(place, int) and -len(base.sources) <= place < len(base.sources):
                return base.sources[place]
        if index is not None and not index.is_number and index.operation != "tuple":
            # Indexing with a tensor copies.
            return self._computed(node, "[]", [base, index])
        return self._make(Origin.VIEW, "[]", base, node=node)

    def _call(self, node: ast.Call) -> HostValue:
        launch = self._module.lookup.launch_of(node)
        if launch is not None:
            return self._launch(node, launch)
        func = node.func
        root = _root(func)
        is_method = isinstance(func, ast.Attribute) and not (
            isinstance(root, ast.Name) and root.id not in self._env
        )
        owner = None
        if isinstance(func, ast.Attribute) and is_method:
            owner = self.eval(func.value)
        values = [self.eval(a) for a in node.args]
        keywords = {k.arg: self.eval(k.value) for k in node.keywords}
        if isinstance(func, ast.Attribute) and owner is not None:
            return self._method(node, func.attr, owner, [*values, *keywords.values()])
        if isinstance(func, ast.Subscript | ast.Call):
            self.eval(func)
        dotted = self._module.names.resolve(func) or ""
        return self._function(node, dotted, values, keywords)

    def _launch(self, node: ast.Call, launch: Launch) -> HostValue:
        self.eval(launch.grid)
        kernel = self._module.kernel(launch.kernel)
        roles = {} if kernel is None else roles_of(self._module, kernel)
        bound = {id(argument): name for name, argument in launch.arguments.items()}
        for argument in (*node.args, *(k.value for k in node.keywords)):
            value = self.eval(argument)
            name = bound.get(id(argument))
            if name is None or value.origin is Origin.JOINED:
                self.escape(value, node)
            elif not value.is_number:
                role = roles.get(name, Role()) if kernel is not None else _UNSURE
                self._graph.add_use(
                    Use(value, UseKind.LAUNCH, node, self._place(), None, launch, name, role)
                )
        return self._make(Origin.UNKNOWN, "launch", node=node)

    def _method(
        self, node: ast.Call, name: str, owner: HostValue, values: list[HostValue]
    ) -> HostValue:
        if name in SHAPE_METHODS and not (name == "type" and values):
            self._use(owner, UseKind.SHAPE, node)
            return owner if name in ("requires_grad_",) else self._number(node)
        if name in ("item", "tolist") or owner.is_number:
            self._use(owner, UseKind.OPERATION, node)
            for value in values:
                self.escape(value, node)
            return self._number(node)
        if name in NEW_METHODS:
            self._use(owner, UseKind.SHAPE, node)
            return self._make(Origin.ALLOCATED, f".{name}", owner, *values, node=node)
        if name in VIEWS:
            return self._make(Origin.VIEW, f".{name}", owner, node=node)
        if owner.origin is Origin.UNKNOWN or _is_state(owner):
            # A method of who knows what: a context, a list, a module.
            for value in values:
                self.escape(value, node)
            return self._make(Origin.UNKNOWN, f".{name}", owner, *values, node=node)
        if name.endswith("_") and not name.startswith("_"):
            self._use(owner, UseKind.IN_PLACE, node, owner)
            for value in values:
                self._use(value, UseKind.OPERATION, node, owner)
            return owner
        return self._computed(node, f".{name}", [owner, *values])

    def _function(
        self,
        node: ast.Call,
        dotted: str,
        values: list[HostValue],
        keywords: Mapping[str | None, HostValue],
    ) -> HostValue:
        everything = [*values, *keywords.values()]
        if dotted in ALLOCATIONS or dotted in LIKE or dotted in SHAPE_FUNCTIONS:
            return self._asking(node, dotted, everything)
        if dotted in _READS_BACK and dotted != "print":
            return self._operator_call(node, everything)
        if dotted in WRAPPERS:
            return self._make(Origin.JOINED, "tuple", *everything, node=node)
        if _is_operation(dotted) and "out" not in keywords:
            if short(dotted) in VIEWS and values:
                return self._make(Origin.VIEW, dotted, values[0], node=node)
            return self._computed(node, dotted, everything)
        for value in everything:
            self.escape(value, node)
        return self._make(Origin.UNKNOWN, dotted, *everything, node=node)

    def _asking(self, node: ast.Call, dotted: str, values: list[HostValue]) -> HostValue:
        """Allocations and questions of shape; a tensor given as a size is read back."""
        kind = UseKind.OPERATION if dotted in ALLOCATIONS else UseKind.SHAPE
        for value in values:
            self._use(value, kind, node)
        if dotted in SHAPE_FUNCTIONS:
            return self._number(node)
        return self._make(Origin.ALLOCATED, dotted, *values, node=node)

    def _operator_call(self, node: ast.Call, values: list[HostValue]) -> HostValue:
        for value in values:
            self._use(value, UseKind.OPERATION, node)
        return self._number(node)


def _is_state(value: HostValue) -> bool:
    """``self``, ``ctx``: objects that have methods and attributes of their own, no tensors."""
    return value.origin is Origin.PARAMETER and value.operation in ("self", "ctx", "cls")


def _is_operation(dotted: str) -> bool:
    if not dotted.startswith("torch."):
        return False
    head = dotted.removeprefix("torch.").partition(".")[0]
    return head in ("nn", "special", "linalg", "fft", "_C") or "." not in dotted[6:]


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
