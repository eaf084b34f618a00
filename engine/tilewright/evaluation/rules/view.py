"""A module as the rules look at it: host code and kernels apart, each name with its meaning."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeGuard

from tilewright.source.model import Language, Module

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_CONSTRUCTORS = ("__init__", "reset_parameters")
_CALLED_BY_TORCH = ("forward", "backward", "setup_context", "__call__")
_NKI_CODE = ("nki.language.", "nki.isa.")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class View:
    """Host nodes and kernel nodes in source order, and who encloses whom.

    The body of an NKI kernel is Python that runs, so its nodes are among the host's.

    Attributes:
        modules: names that plain ``import`` statements bind.
        globals: what module-level statements bind a name to, in order.
    """

    module: Module
    host: tuple[ast.AST, ...]
    kernels: tuple[ast.AST, ...]
    modules: frozenset[str]
    globals: Mapping[str, tuple[ast.AST, ...]]
    _parents: Mapping[int, ast.AST] = field(repr=False)
    _locals: dict[int, frozenset[str]] = field(default_factory=dict, repr=False)
    _nki: dict[int, bool] = field(default_factory=dict, repr=False)

    @property
    def is_nki(self) -> bool:
        """Whether the file imports NKI."""
        return any(name.split(".")[0] in ("nki", "neuronxcc") for name in self.module.names.imports)

    def is_in_nki_code(self, node: ast.AST) -> bool:
        """Whether a node stands in an NKI kernel, or in a function that uses its instructions."""
        functions = [one for one in self.enclosing_nodes(node) if isinstance(one, FUNCTIONS)]
        return any(self._uses_nki(one) for one in functions)

    def _uses_nki(self, function: Function) -> bool:
        if id(function) not in self._nki:
            names = (one for one in ast.walk(function) if isinstance(one, ast.Attribute))
            self._nki[id(function)] = self.is_nki and any(
                (self.dotted(one) or "").startswith(_NKI_CODE) for one in names
            )
        return self._nki[id(function)]

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(id(node))

    def enclosing_nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function around a node."""
        return next((a for a in self.enclosing_nodes(node) if isinstance(a, FUNCTIONS)), None)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        return next((a for a in self.enclosing_nodes(node) if isinstance(a, ast.ClassDef)), None)

    def is_local(self, node: ast.Name) -> bool:
        """Whether a function around a name binds it, other than by an import."""
        return any(
            node.id in self.locals_of(above)
            for above in self.enclosing_nodes(node)
            if isinstance(above, FUNCTIONS)
        )

    def locals_of(self, function: Function) -> frozenset[str]:
        """Names that a function binds itself, imports aside."""
        known = self._locals.get(id(function))
        if known is None:
            known = self._locals[id(function)] = frozenset(_bound_in(function))
        return known

    def dotted(self, node: ast.AST) -> str | None:
        """The dotted origin of a name or attribute; None where it starts from a local value."""
        root = root_of(node)
        if root is None or not isinstance(node, ast.Name | ast.Attribute) or self.is_local(root):
            return None
        return self.module.names.resolve(node)

    def is_annotation(self, node: ast.AST) -> bool:
        """Whether a node stands in a type annotation."""
        child = node
        for above in self.enclosing_nodes(node):
            if isinstance(above, ast.arg | ast.AnnAssign) and child is above.annotation:
                return True
            if isinstance(above, ast.FunctionDef) and child is above.returns:
                return True
            child = above
        return False

    def is_constructing(self, node: ast.AST) -> bool:
        """Whether a node stands in what a class runs when one of its objects is made."""
        function = self.function_of(node)
        owner = None if function is None else self.parent(function)
        if not isinstance(function, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
            return False
        return function.name in _CONSTRUCTORS or self._is_called_to_construct(owner, function)

    def _is_called_to_construct(self, owner: ast.ClassDef, method: ast.FunctionDef) -> bool:
        """Whether a method is named nowhere but in its class's constructors, which run it."""
        if method.name in _CALLED_BY_TORCH:
            return False
        named = [
            one for one in self.host if isinstance(one, ast.Attribute) and one.attr == method.name
        ]
        return bool(named) and all(
            getattr(self.function_of(one), "name", "") in _CONSTRUCTORS
            and self.class_of(one) is owner
            and self._is_run_at_once(one)
            for one in named
        )

    def _is_run_at_once(self, method: ast.Attribute) -> bool:
        """Whether a method is called where it is named, or for each layer by ``self.apply``: what
        is handed on (a hook) runs later."""
        call = self.parent(method)
        if not isinstance(call, ast.Call):
            return False
        return call.func is method or ast.unparse(call.func) == "self.apply"

    def is_first_value(self, node: ast.AST) -> bool:
        """Whether a node computes what ``torch.nn.Parameter`` is made of in a constructor.

        The coordinator gives every parameter the original's values before the first call, and
        refuses a model that has other parameters, so nothing computed here reaches a result.
        """
        return self.is_constructing(node) and any(
            isinstance(above, ast.Call) and self.dotted(above.func) == "torch.nn.Parameter"
            for above in self.enclosing_nodes(node)
        )

    def functions(self) -> Iterator[Function]:
        """Host functions, those within others and lambdas too."""
        return (node for node in self.host if isinstance(node, FUNCTIONS))


def view_of(module: Module) -> View:
    """The view of a module."""
    parents: dict[int, ast.AST] = {}
    inside = {id(one.node) for one in module.kernels if one.language is not Language.NKI}
    host: list[ast.AST] = []
    kernels: list[ast.AST] = []
    body = _imported(module.tree.body)
    pending: list[tuple[ast.AST, bool]] = [(s, False) for s in reversed(body)]
    while pending:
        node, within = pending.pop()
        within = within or id(node) in inside
        (kernels if within else host).append(node)
        hosts = set(map(id, _run_on_the_host(node)))
        children = list(ast.iter_child_nodes(node))
        for child in children:
            # An ast shares the nodes of contexts and operators among all who have them.
            if not isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.cmpop):
                parents[id(child)] = node
        pending.extend((child, within and id(child) not in hosts) for child in reversed(children))
    return View(
        module, tuple(host), tuple(kernels), frozenset(_modules(body)), _globals(module),
        parents,
    )  # fmt: skip


def _imported(body: list[ast.stmt]) -> list[ast.stmt]:
    """A module's statements without those of a script, which no import runs."""
    found: list[ast.stmt] = []
    for statement in body:
        found += statement.orelse if is_script(statement) else [statement]
    return found


def is_script(statement: ast.stmt) -> TypeGuard[ast.If]:
    """Whether a statement of a module is ``if __name__ == "__main__":``."""
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name("__name__"), ops=[ast.Eq()], comparators=[ast.Constant("__main__")]
            )
        ):
            return True
    return False


def _run_on_the_host(node: ast.AST) -> tuple[ast.AST, ...]:
    """What of a kernel runs as its file is imported: decorators (heuristics, hooks), annotations,
    defaults."""
    if isinstance(node, ast.FunctionDef):
        return (*node.decorator_list, *filter(None, [node.returns]))
    if isinstance(node, ast.arguments):
        return (*node.defaults, *filter(None, node.kw_defaults))
    return tuple(filter(None, [node.annotation])) if isinstance(node, ast.arg) else ()


def root_of(node: ast.AST) -> ast.Name | None:
    """The name that a chain of attributes starts from."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def base_of(node: ast.AST) -> ast.AST:
    """What a chain of attributes and subscripts starts from."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        node = node.value
    return node


def line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))


def _modules(body: list[ast.stmt]) -> Iterator[str]:
    for node in chain.from_iterable(map(ast.walk, body)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]


def _globals(module: Module) -> dict[str, tuple[ast.AST, ...]]:
    found: dict[str, list[ast.AST]] = {}
    pending: list[ast.stmt] = _imported(module.tree.body)
    while pending:
        statement = pending.pop(0)
        for name, value in (*_binds(statement), *_bound_within(statement)):
            found.setdefault(name, []).append(value)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for block in ("body", "orelse", "finalbody"):
            pending = [*getattr(statement, block, ()), *pending]
        for case in (*getattr(statement, "cases", ()), *getattr(statement, "handlers", ())):
            pending = [*case.body, *pending]
    return {name: tuple(values) for name, values in found.items()}


def _binds(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name, statement
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from ((name, statement.value) for name in _names(target))
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
        yield from ((name, statement.value) for name in _names(statement.target))
    elif isinstance(statement, ast.For):
        yield from ((name, statement.iter) for name in _names(statement.target))
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], statement


def _bound_within(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """Names that expressions of a statement bind, ``with`` and the patterns of ``match``."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id, node.value
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            yield from ((name, node.context_expr) for name in _names(node.optional_vars))
        elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name is not None:
            yield node.name, ast.copy_location(ast.List([], ast.Load()), node)
        if not isinstance(node, ast.Lambda):
            inner = ast.iter_child_nodes(node)
            pending += [one for one in inner if not isinstance(one, ast.stmt)]


def _names(target: ast.AST) -> Iterator[str]:
    """The names that an assignment's target binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _names(item)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def _bound_in(function: Function) -> Iterator[str]:
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        yield argument.arg
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            yield extra.arg
    declared: set[str] = set()
    found: list[str] = []
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            declared.update(node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append(node.name)
            continue
        elif isinstance(node, ast.Lambda):
            continue
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id)
        pending.extend(ast.iter_child_nodes(node))
    yield from (name for name in found if name not in declared)
