"""What an entry point runs: host functions, methods, autograd functions, launches.

Only calls whose target stands in the file are followed, and only where the text says which
it is; a callable that is passed around is not.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tilewright.source.classes import Classes, classes_of
from tilewright.source.model import Launch, Module
from tilewright.source.names import Names

_CACHES = frozenset(("functools.cache", "functools.lru_cache", "functools.cached_property"))
_LOOPS = (
    ast.For,
    ast.While,
    ast.AsyncFor,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_MAX_STEPS = 2_000


@dataclass(frozen=True)
class Edge:
    """One call in a host function: of another (``callee``) or of a kernel (``launch``).

    Attributes:
        is_once: it stands in a block that runs only until something is there
            (``if self._table is None:``), or calls a cached function or a constructor's setup.
        in_loop: it may run several times each time its function runs.
        is_backward: autograd runs it, not this call.
    """

    node: ast.Call
    callee: str | None = None
    launch: Launch | None = None
    is_once: bool = False
    in_loop: bool = False
    is_backward: bool = False


@dataclass(frozen=True)
class Step:
    """A call that an entry point comes to. ``function`` is where the call stands.

    ``is_once``, ``in_loop`` and ``is_backward`` hold for the whole way from the entry point.
    """

    function: str
    edge: Edge
    is_once: bool
    in_loop: bool
    is_backward: bool


@dataclass(frozen=True)
class CallGraph:
    """The calls in each host function of a file, by its qualified name, in program order."""

    edges: Mapping[str, tuple[Edge, ...]]
    classes: Classes = field(repr=False)

    def entry(self, name: str) -> str | None:
        """The host function an entry point means: of a class, its ``forward`` or ``__call__``."""
        if name in self.edges:
            return name
        found = (self.classes.method(name, method) for method in ("forward", "__call__"))
        return next((method for method in found if method is not None), None)

    def reached(self, name: str) -> tuple[Step, ...]:
        """The calls an entry point comes to, in the order in which they begin."""
        entry = self.entry(name)
        if entry is None:
            return ()
        steps: list[Step] = []
        self._follow(entry, Step("", Edge(_NO_CALL), False, False, False), (entry,), steps)
        return tuple(steps)

    def _follow(self, function: str, way: Step, path: tuple[str, ...], steps: list[Step]) -> None:
        for edge in self.edges.get(function, ()):
            if len(steps) >= _MAX_STEPS:
                return
            step = Step(
                function,
                edge,
                way.is_once or edge.is_once,
                way.in_loop or edge.in_loop,
                way.is_backward or edge.is_backward,
            )
            steps.append(step)
            if edge.callee is not None and edge.callee not in path:
                self._follow(edge.callee, step, (*path, edge.callee), steps)


_NO_CALL = ast.Call(func=ast.Name("", ast.Load()), args=[], keywords=[])


def call_graph(module: Module) -> CallGraph:
    """The call graph of a file's host code."""
    classes = classes_of(module)
    launches: dict[int, list[Launch]] = {}
    for launch in module.launches:
        launches.setdefault(id(launch.node), []).append(launch)
    edges = {
        name: tuple(_Calls(module, classes, launches, name).edges_of(node))
        for name, node in module.host_functions.items()
    }
    return CallGraph(edges, classes)


@dataclass(frozen=True)
class _Around:
    is_once: bool = False
    in_loop: bool = False


class _Calls:
    """Finds the calls of one host function, in program order."""

    def __init__(
        self, module: Module, classes: Classes, launches: Mapping[int, list[Launch]], name: str
    ) -> None:
        self._module = module
        self._classes = classes
        self._launches = launches
        self._name = name

    def edges_of(self, function: ast.FunctionDef) -> Iterator[Edge]:
        """The calls of a function; those of functions defined in it are their own."""
        for statement in function.body:
            yield from self._edges_within(statement, _Around())

    def _edges_within(self, node: ast.AST, around: _Around) -> Iterator[Edge]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        if isinstance(node, ast.If):
            yield from self._if(node, around)
            return
        inner = around
        if isinstance(node, _LOOPS):
            inner = replace(around, in_loop=True)
        for child in _in_order(node):
            yield from self._edges_within(child, inner)
        if isinstance(node, ast.Call):
            yield from self._edges(node, around)

    def _if(self, node: ast.If, around: _Around) -> Iterator[Edge]:
        yield from self._edges_within(node.test, around)
        first = replace(around, is_once=True) if is_lazy_guard(node.test) else around
        for statement in node.body:
            yield from self._edges_within(statement, first)
        for statement in node.orelse:
            yield from self._edges_within(statement, around)

    def _edges(self, call: ast.Call, around: _Around) -> Iterator[Edge]:
        for launch in self._launches.get(id(call), ()):
            yield Edge(call, None, launch, around.is_once, around.in_loop)
        for callee, is_backward in self._classes.called_functions(call, self._name):
            node = self._module.host_functions.get(callee)
            once = around.is_once or (node is not None and _is_cached(node, self._module.names))
            yield Edge(call, callee, None, once, around.in_loop, is_backward)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node as they are evaluated: what is assigned before what it goes to."""
    if isinstance(node, ast.Assign):
        return iter((node.value, *node.targets))
    return ast.iter_child_nodes(node)


def is_lazy_guard(test: ast.expr) -> bool:
    """Whether a test asks if something is not there yet: then its block runs once.

    ``self._x is None``, ``not hasattr(self, "_x")``, ``key not in self._cache``.
    """
    match test:
        case ast.Compare(left=ast.Attribute(), ops=[ast.Is()], comparators=[ast.Constant(None)]):
            return True
        case ast.Compare(ops=[ast.NotIn()], comparators=[ast.Attribute()]):
            return True
        case ast.Compare(ops=[ast.NotIn()], comparators=[ast.Name(id=name)]):
            return "cache" in name.lower()
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="hasattr"))):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return any(is_lazy_guard(value) for value in values)
    return False


def _is_cached(node: ast.FunctionDef, names: Names) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.resolve(target) in _CACHES:
            return True
    return False
