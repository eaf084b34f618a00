"""The interpretation of an NKI kernel and its helpers, made once; with its arguments if known."""

import ast
from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import chain

import tilewright.analysis.nki.expressions as ex
from tilewright.analysis.nki.affine import Affine, Symbol, SymbolKind
from tilewright.analysis.nki.evaluate import value_of
from tilewright.analysis.nki.flavour import flavour_of
from tilewright.analysis.nki.flow import Call, Flow
from tilewright.analysis.nki.model import Fact, View
from tilewright.analysis.nki.parameters import Given, bind_parameters
from tilewright.analysis.nki.state import Frame, Result, State
from tilewright.analysis.nki.statements import run_block
from tilewright.analysis.nki.values import Literal, Many, Value
from tilewright.analysis.per_kernel import per_kernel
from tilewright.python_syntax import parameter_defaults
from tilewright.source.environment import environment_of, touches
from tilewright.source.model import Kernel, Module
from tilewright.source.parse import module_constants


@per_kernel
def nki_flow(module: Module, kernel: Kernel) -> Flow:
    """What happens in an NKI kernel; computed once for each parsed kernel."""
    return _interpreted(module, kernel, None, ())


def launched_flow(
    module: Module, kernel: Kernel, given: Mapping[str, Given], grid: tuple[int, ...] = ()
) -> Flow:
    """What happens in one launch, so that sizes and branches that depend on arguments are known.

    Args:
        given: arguments by parameter; one that is missing has its default, or stays unknown.
        grid: of the launch, programs by axis; one program where it is empty.
    """
    return _interpreted(module, kernel, given, grid)


def _interpreted(
    module: Module, kernel: Kernel, given: Mapping[str, Given] | None, grid: tuple[int, ...]
) -> Flow:
    flow = Flow(flavour_of(module))
    for axis, programs in enumerate(grid):
        symbol = Symbol(("num_programs", axis), SymbolKind.OTHER, f"nl.num_programs({axis})")
        flow.known[symbol] = Affine.from_value(programs)
    state = State(
        module.names,
        flow,
        constants_around(module, kernel),
        helpers=helper_functions(module),
        follow=follow,
    )
    bind_parameters(state, kernel.node, given)
    run_block(state, kernel.node.body)
    return flow


def constants_around(module: Module, kernel: Kernel) -> Mapping[str, ast.expr]:
    """Each name, ``Tiles.WIDTH`` of a class, with the expression it is given."""
    found = dict(module_constants(module.tree))
    for statement in module.tree.body:
        if isinstance(statement, ast.ClassDef):
            owned = _once(statement.body)
            found.update({f"{statement.name}.{name}": value for name, value in owned.items()})
    for function in _enclosing_functions(module.tree, kernel.node):
        given = function.args
        parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)
        found.update(_once(function.body))
        for parameter in parameters:
            found.pop(parameter.arg, None)
    return found


def _once(body: list[ast.stmt]) -> Mapping[str, ast.expr]:
    """Names that a block gives a value once."""
    return environment_of(chain.from_iterable(map(touches, body)), ()).constants


def _enclosing_functions(tree: ast.Module, kernel: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """The functions that a kernel is defined in, the outermost first."""
    body: list[ast.stmt] = tree.body
    while not any(statement is kernel for statement in body):
        outer = next((s for s in body if _holds(s, kernel)), None)
        if outer is None:
            return
        if isinstance(outer, ast.FunctionDef):
            yield outer
        body = [s for s in ast.iter_child_nodes(outer) if isinstance(s, ast.stmt)]


def _holds(statement: ast.stmt, kernel: ast.FunctionDef) -> bool:
    return statement.lineno <= kernel.lineno <= (statement.end_lineno or statement.lineno)


_MOST_CALLS = 64
_MOST_DEPTH = 4
_NOT_FOLLOWED = ast.Yield | ast.YieldFrom | ast.Await | ast.Global | ast.Nonlocal


def helper_functions(module: Module) -> Mapping[str, ast.FunctionDef]:
    """Functions of the file that a kernel's trace runs through when it calls them."""
    return {
        name: function
        for name, function in module.host_functions.items()
        if not function.decorator_list
        and function.args.vararg is None
        and function.args.kwarg is None
        and not any(isinstance(node, _NOT_FOLLOWED) for node in ast.walk(function))
    }


def follow(state: State, call: Call, function: ast.FunctionDef) -> Value | None:
    """What a call returns, its instructions recorded; None where it is not followed."""
    given = _bound(call, function)
    if given is None or state.depth >= _MOST_DEPTH or state.followed >= _MOST_CALLS:
        return None
    state.followed += 1
    caller = (state.local, state.env, state.statement, state.frame)
    facts = {name: state.flow.fact(node) for name, node in given.items()}
    values = {name: state.flow.value(node) for name, node in given.items()}
    frame = Frame(state.branches)
    state.local, state.env, state.frame = {}, {}, frame
    state.depth += 1
    _enter(state, function, facts, values)
    run_block(state, function.body)
    state.depth -= 1
    state.local, state.env, state.statement, state.frame = caller
    return _returned(state, call, frame)


def _enter(
    state: State,
    function: ast.FunctionDef,
    facts: Mapping[str, Fact],
    values: Mapping[str, Value],
) -> None:
    """Give the parameters their arguments, or their defaults."""
    for argument, default in parameter_defaults(function.args):
        name = argument.arg
        if name in values:
            state.bind(name, facts[name], None)
            state.env[name] = values[name]
        elif default is not None:
            with state.unrecorded():
                value = value_of(state, default)
            state.bind(name, state.flow.fact(default), None)
            state.env[name] = value


def _bound(call: Call, function: ast.FunctionDef) -> dict[str, ast.expr] | None:
    """Arguments by parameter; None where they do not fit, or a list may be changed inside."""
    positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    if len(call.node.args) > len(positional) or "**" in call.keywords:
        return None
    if any(isinstance(argument, ast.Starred) for argument in call.node.args):
        return None
    if any(isinstance(v, Many) for v in (*call.positional, *call.keywords.values())):
        return None
    given = dict(zip(positional, call.node.args, strict=False))
    given |= {k.arg: k.value for k in call.node.keywords if k.arg is not None}
    known = {a.arg: default for a, default in parameter_defaults(function.args)}
    missing = [name for name, default in known.items() if default is None and name not in given]
    return None if missing or not given.keys() <= known.keys() else given


def _returned(state: State, call: Call, frame: Frame) -> Value:
    results = frame.results
    if not results:
        return Literal(None)
    if not frame.is_over:
        results = [*results, Result(Literal(None), None)]
    if len(results) == 1 and results[0].source is not None:
        state.by_node[id(call.node)] = results[0].source
    value = reduce(ex.joined, [result.value for result in results])
    lost = [r.value for r in results if isinstance(r.value, View) and r.value is not value]
    if lost:
        state.operation("forget", call.node, tuple(lost))
    return value
