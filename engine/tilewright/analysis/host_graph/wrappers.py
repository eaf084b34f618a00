"""Host functions that launch kernels for their callers, and graphs that see through them."""

import ast
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace

from tilewright.analysis.host_graph.build import GraphBuilder, host_graph_of, launching_functions
from tilewright.analysis.host_graph.model import HostGraph, HostValue, Origin, Use, UseKind
from tilewright.analysis.host_graph.operations import LIKE, short
from tilewright.analysis.host_graph.roles import Role
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.per_kernel import per_module
from tilewright.python_syntax import passes_unseen
from tilewright.source.classes import Classes, classes_of
from tilewright.source.model import Kernel, Launch, Module
from tilewright.source.node_memo import per_node, per_text, text_memo_of
from tilewright.source.text import Range

_LEVELS = 3
"""How many functions may stand between a caller and a launch."""
_COPIES = frozenset({"contiguous", "detach"})


@dataclass(frozen=True)
class Passed:
    """What one launch of a wrapper does with a tensor."""

    launch: Launch
    parameter: str
    role: Role


@dataclass(frozen=True)
class Wrapper:
    """What a call of a host function does with the tensors it is given, and what it returns.

    Attributes:
        given: its parameters that launches alone touch, with what these do.
        made: for each tensor it returns, the launch that fills it; None where that is not sure.
        spans: for each of these whether it is as large as an operand.
        returns_tuple: whether it returns several.
    """

    function: ast.FunctionDef
    given: Mapping[str, tuple[Passed, ...]]
    made: tuple[Passed | None, ...]
    spans: tuple[bool, ...]
    returns_tuple: bool


def graphs_through_calls(module: Module) -> Mapping[str, tuple[HostGraph, list[Launch]]]:
    """Graphs of the functions to be looked at that launch kernels or call wrappers of the file.

    A call of a wrapper counts as its launches, with the place of the call.
    """
    return {} if isinstance(module.focus, Kernel) else _graphs(module, module.focus)


@per_module
def _graphs(module: Module, focus: str | None) -> Mapping[str, tuple[HostGraph, list[Launch]]]:
    direct, callers = _direct(module), calling_functions(module)
    names = dict.fromkeys((*direct, *callers)) if focus is None else {focus: None}
    found: dict[str, tuple[HostGraph, list[Launch]]] = {}
    for name in names:
        if name in callers:
            found[name] = (_deep_graph(module, name), list(callers[name]))
        elif name in direct:
            found[name] = (host_graph_of(module, name), direct[name])
    return found


@per_module
def _direct(module: Module) -> Mapping[str, list[Launch]]:
    return launching_functions(replace(module, focus=None))


@per_module
def calling_functions(module: Module) -> Mapping[str, tuple[Launch, ...]]:
    """Functions that call others which launch kernels, with the launches they come to."""
    launching = {name: tuple(launches) for name, launches in _direct(module).items()}
    found: dict[str, tuple[Launch, ...]] = {}
    calls = _calls(module) if launching else {}
    for _ in range(_LEVELS):
        for name, callees in calls.items():
            through = [
                x
                for callee in callees
                for x in (*launching.get(callee, ()), *found.get(callee, ()))
            ]
            if through:
                own = launching.get(name, ())
                found[name] = tuple(dict.fromkeys((*own, *through)))
    return found


@per_module
def _calls(module: Module) -> Mapping[str, tuple[str, ...]]:
    """For each host function the other functions of the file that it calls."""
    names = tuple(module.host_functions)
    known = {part for name in names for part in name.split(".")}
    known |= _classes(module).aliases.keys() | {"self", "cls"}
    found: dict[str, tuple[str, ...]] = {}
    for name, node in module.host_functions.items():
        if known.isdisjoint(_called_roots(node)):
            continue
        memo = text_memo_of(node)
        kept = memo.get(_calls)
        if kept is None or kept[:2] != (module.era, names):
            kept = memo[_calls] = module.era, names, _calls_in(module, name, known)
        if kept[2]:
            found[name] = kept[2]
    return found


def _calls_in(module: Module, name: str, known: Set[str]) -> tuple[str, ...]:
    """The other functions that one calls."""
    called = _classes(module).called_functions
    return tuple(
        dict.fromkeys(
            callee
            for root, part in _named_calls(module.host_functions[name])
            if root in known
            for callee, is_backward in called(part, name)
            if not is_backward and callee != name
        )
    )


@per_module
def _reached(module: Module, name: str) -> frozenset[str]:
    """The functions of the file that a call of one may come to, itself included."""
    calls = _calls(module)
    found, pending = {name}, [name]
    while pending:
        further = set(calls.get(pending.pop(), ())) - found
        found |= further
        pending.extend(further)
    return frozenset(found)


@per_node
def _named_calls(function: ast.FunctionDef) -> tuple[tuple[str, ast.Call], ...]:
    """The calls in a function that may be of the file's functions, classes or their instances.

    Each with the name that is called, or whose attribute is.
    """
    found = []
    for node in nodes_like(function, ast.Call):
        root = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if isinstance(root, ast.Name):
            found.append((root.id, node))
    return tuple(found)


@per_text
def _called_roots(function: ast.FunctionDef) -> frozenset[str]:
    return frozenset(root for root, _ in _named_calls(function))


class _DeepBuilder(GraphBuilder):
    """Builds the graph of a function with the launches of the wrappers that it calls.

    ``above`` are functions that have come to it and that it may call; ``level`` counts all of them.
    """

    def __init__(self, module: Module, name: str, above: frozenset[str], level: int) -> None:
        super().__init__(module, module.host_functions[name])
        self._name = name
        self._above = above | {name}
        self._level = level + 1

    def _call(self, node: ast.Call) -> HostValue:
        is_launch = self._module.lookup.launch_of(node) is not None
        wrapper = None if is_launch else self._wrapper(node)
        bound = None if wrapper is None else _bound(wrapper.function, node)
        if wrapper is None or bound is None:
            return super()._call(node)
        values = {name: self.eval(argument) for name, argument in bound.items()}
        launches: dict[int, Launch] = {}
        for name, value in values.items():
            if name not in wrapper.given:
                self.escape(value, node)
            for passed in wrapper.given.get(name, ()):
                self._touch(node, value, passed, self._placed(node, passed.launch, bound, launches))
        results = [
            self._result(node, wrapper, place, list(values.values()), bound, launches)
            for place in range(len(wrapper.made))
        ]
        if not wrapper.returns_tuple and results:
            return results[0]
        as_tuple = ast.Tuple(elts=[node] * len(results), ctx=ast.Load())
        return self._make(Origin.JOINED, "tuple", *results, node=as_tuple)

    def _result(
        self,
        node: ast.Call,
        wrapper: Wrapper,
        place: int,
        values: list[HostValue],
        bound: Mapping[str, ast.expr],
        launches: dict[int, Launch],
    ) -> HostValue:
        passed = wrapper.made[place]
        if passed is None:
            return self._make(Origin.UNKNOWN, "item", *values, node=node)
        tensors = [value for value in values if not value.is_number]
        operation = "torch.empty_like" if wrapper.spans[place] and tensors else "torch.empty"
        result = self._make(Origin.ALLOCATED, operation, *tensors, node=node)
        self._touch(node, result, passed, self._placed(node, passed.launch, bound, launches))
        return result

    def _touch(self, node: ast.Call, value: HostValue, passed: Passed, launch: Launch) -> None:
        if not value.is_number:
            self._graph.add_use(
                Use(
                    *(value, UseKind.LAUNCH, node, self._place(), None),
                    *(launch, passed.parameter, passed.role),
                )
            )

    def _placed(
        self,
        node: ast.Call,
        launch: Launch,
        bound: Mapping[str, ast.expr],
        known: dict[int, Launch],
    ) -> Launch:
        """A wrapper's launch as if it stood at the call; one object for each launch and call."""
        if id(launch) not in known:
            where: Range = self._module.index.range_of(node)
            arguments = {
                name: bound[argument.id]
                for name, argument in launch.arguments.items()
                if isinstance(argument, ast.Name) and argument.id in bound
            }
            known[id(launch)] = replace(launch, range=where, node=node, arguments=arguments)
        return known[id(launch)]

    def _wrapper(self, node: ast.Call) -> Wrapper | None:
        called = [
            c
            for c, backward in _classes(self._module).called_functions(node, self._name)
            if not backward
        ]
        if len(called) != 1 or called[0] in self._above or self._level > _LEVELS:
            return None
        name = called[0]
        if name not in _direct(self._module) and name not in calling_functions(self._module):
            return None
        # Of the ways to a function, only those that it may close to a circle make a difference.
        above = self._above & _reached(self._module, name)
        return _wrapper_of(self._module, name, above, self._level)


@per_module
def _classes(module: Module) -> Classes:
    return classes_of(module)


@per_module
def _deep_graph(module: Module, name: str) -> HostGraph:
    return _DeepBuilder(module, name, frozenset(), 0).build()


@per_module
def _wrapper_of(module: Module, name: str, above: frozenset[str], level: int) -> Wrapper | None:
    """What a call of a function comes to; None where it returns in several places."""
    function = module.host_functions[name]
    returns = [n for n in nodes_like(function, ast.Return) if n.value is not None]
    if len(returns) != 1 or function.args.vararg or function.args.kwarg:
        return None
    if any("cache" in ast.unparse(decorator) for decorator in function.decorator_list):
        return None
    graph = _DeepBuilder(module, name, above, level).build()
    value = graph.returned.get(returns[0])
    if value is None:
        return None
    results: tuple[HostValue, ...] = (value,)
    is_tuple = value.origin is Origin.JOINED and isinstance(value.node, ast.Tuple)
    if is_tuple:
        results = value.sources
    made = tuple(_filled(graph, result) for result in results)
    spans = tuple(_spans(graph.root(result)) for result in results)
    given = {
        v.operation: passed
        for v in graph.values
        if v.origin is Origin.PARAMETER and (passed := _touched(graph, v))
    }
    return Wrapper(function, given, made, spans, is_tuple)


def _filled(graph: HostGraph, value: HostValue) -> Passed | None:
    """The one launch that fills a returned tensor, which nothing else reads or changes."""
    root = graph.root(value)
    uses = [u for u in graph.data_uses(root) if not isinstance(u.node, ast.Return)]
    writes = [u for u in uses if u.role is not None and u.role.writes]
    if root.origin is not Origin.ALLOCATED or len(uses) != 1 or len(writes) != 1:
        return None
    return _passed(writes[0])


def _passed(use: Use) -> Passed | None:
    """A launch that runs once at each call; None for any other use."""
    if use.kind is not UseKind.LAUNCH or use.launch is None or use.role is None:
        return None
    if use.place.branches or use.place.loops or not use.role.is_sure:
        return None
    return Passed(use.launch, use.parameter or "", use.role)


def _touched(graph: HostGraph, value: HostValue) -> tuple[Passed, ...]:
    """What launches do with a parameter's memory; () where anything else is done with it."""
    found: list[Passed] = []
    for use in graph.data_uses(value):
        is_copy = use.result is not None and short(use.result.operation) in _COPIES
        if is_copy and use.result is not None:
            through = _touched(graph, use.result)
            if not through:
                return ()
            found += through
            continue
        passed = _passed(use)
        if passed is None:
            return ()
        found.append(passed)
    return tuple(found)


def _spans(value: HostValue) -> bool:
    """Whether an allocation states the extents of another tensor."""
    if value.operation in LIKE:
        return True
    node = value.node
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(first, ast.Tuple | ast.List):
        return len(first.elts) > 1
    several = (
        isinstance(node, ast.Call) and sum(not isinstance(a, ast.Starred) for a in node.args) > 1
    )
    return several or (isinstance(first, ast.Attribute) and first.attr == "shape")


def _bound(function: ast.FunctionDef, call: ast.Call) -> Mapping[str, ast.expr] | None:
    """The arguments of a call by parameter; None where some are not seen."""
    if passes_unseen(call):
        return None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if names and names[0] in ("self", "cls", "ctx"):
        names = names[1:]
    if len(call.args) > len(names):
        return None
    found = dict(zip(names, call.args, strict=False))
    found.update((k.arg, k.value) for k in call.keywords if k.arg is not None)
    return found
