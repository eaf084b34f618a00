"""Numbers read from the device that decide a shape: the host cannot go on without them."""

import ast
from collections.abc import Collection, Iterator

from tilewright.analysis.flow import flow_of
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow
from tilewright.source.host import resolve
from tilewright.source.model import Launch, Module


def is_size(module: Module, function: ast.FunctionDef, read: ast.AST) -> bool:
    """Whether a number read in a function decides a shape there, or in a function that calls it."""
    names = _computed_from(function, [read])
    if _decides_shape(module, function, read, names):
        return True
    returned = [n for n in nodes_like(function, ast.Return) if n.value is not None]
    places = {place for node in returned for place in _places(node, read, names)}
    return any(
        _decides_shape(module, caller, None, given) or _is_handed_on(module, caller, given)
        for caller, given in _receivers(module, function, places)
        if places
    )


def is_limit_of_launch(
    module: Module, function: ast.FunctionDef, read: ast.AST, launches: Collection[Launch]
) -> bool:
    """Whether a number read in a function decides how many programs a launch of it starts.

    Or how long its tiles are.
    """
    names = _computed_from(function, [read])
    places: list[ast.AST] = []
    for launch in launches:
        kernel = module.kernel(launch.kernel)
        blocks = () if kernel is None else _lengths_of_tiles(flow_of(module, kernel))
        places += [launch.grid, resolve(module, launch, launch.grid)]
        places += [launch.arguments[name] for name in blocks if name in launch.arguments]
    return any(_is_of(inner, (read,), names) for place in places for inner in ast.walk(place))


def _lengths_of_tiles(flow: Flow) -> set[str]:
    """The parameters that are lengths of tiles, as they are."""
    return {
        str(value.operands[1].detail)
        for value in flow.values.values()
        if value.op == "arange" and value.operands[1].op == "param"
    }


def is_only_checked(function: ast.FunctionDef, read: ast.AST) -> bool:
    """Whether a number read in a function does nothing there but decide if it ends in an error."""
    names = _computed_from(function, [read])
    checks: list[ast.AST] = [*nodes_like(function, ast.Assert)]
    for choice in nodes_like(function, ast.If):
        if isinstance(choice.body[-1], ast.Raise):
            checks += [choice.test, *choice.body]
    checked = {id(inner) for check in checks for inner in ast.walk(check)}
    given = {
        id(inner)
        for statement in nodes_like(function, ast.Assign)
        if {t.id for t in statement.targets if isinstance(t, ast.Name)} & names
        for inner in ast.walk(statement)
    }
    uses = [n for n in nodes_like(function, ast.Name) if n.id in names]
    others = [n for n in uses if id(n) not in checked and id(n) not in given]
    is_read = id(read) in checked or any(id(n) in checked for n in uses)
    return is_read and not others


def _computed_from(function: ast.FunctionDef, parts: Collection[ast.AST]) -> set[str]:
    """Names that hold one of some expressions, or a number computed from that."""
    names: set[str] = set()
    for statement in sorted(nodes_like(function, ast.Assign), key=lambda s: s.lineno):
        found = list(ast.walk(statement.value))
        if any(_is_of(part, parts, names) for part in found):
            names |= {t.id for t in statement.targets if isinstance(t, ast.Name)}
    return names


def _is_of(node: ast.AST, parts: Collection[ast.AST], names: set[str]) -> bool:
    return node in parts or (isinstance(node, ast.Name) and node.id in names)


def _decides_shape(
    module: Module, function: ast.FunctionDef, read: ast.AST | None, names: set[str]
) -> bool:
    """Whether a number is in a slice, or in the arguments of an allocation."""
    places: list[ast.AST] = [*nodes_like(function, ast.Slice)]
    places += [n for n in nodes_like(function, ast.Call) if _allocates(module, n)]
    parts = () if read is None else (read,)
    return any(_is_of(inner, parts, names) for place in places for inner in ast.walk(place))


def _allocates(module: Module, node: ast.Call) -> bool:
    dotted = module.names.resolve(node.func) or ""
    return dotted.startswith("torch.") or dotted.endswith((".new_empty", ".new_zeros", ".resize_"))


def _places(node: ast.Return, read: ast.AST, names: set[str]) -> Iterator[int | None]:
    """Where in what a function returns a number is: its place in a tuple, None for all of it."""
    value = node.value
    parts = list(enumerate(value.elts)) if isinstance(value, ast.Tuple) else [(None, value)]
    for place, part in parts:
        if part is not None and any(_is_of(inner, (read,), names) for inner in ast.walk(part)):
            yield place


def _receivers(
    module: Module, function: ast.FunctionDef, places: Collection[int | None]
) -> Iterator[tuple[ast.FunctionDef, set[str]]]:
    """Functions that call one of the file, with the names that they give to some of its results."""
    for caller in module.host_functions.values():
        for statement in nodes_like(caller, ast.Assign):
            call, target = statement.value, statement.targets[0]
            if not isinstance(call, ast.Call) or not _calls(call, function.name):
                continue
            parts = list(enumerate(target.elts)) if isinstance(target, ast.Tuple) else []
            given = {p.id for n, p in parts if n in places and isinstance(p, ast.Name)}
            if isinstance(target, ast.Name) and None in places:
                given.add(target.id)
            if given:
                yield caller, given | _computed_from_names(caller, given)


def _computed_from_names(function: ast.FunctionDef, names: set[str]) -> set[str]:
    read = [n for n in nodes_like(function, ast.Name) if n.id in names]
    return _computed_from(function, read)


def _calls(call: ast.Call, name: str) -> bool:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else None
    return name == (call.func.id if isinstance(call.func, ast.Name) else called)


def _is_handed_on(module: Module, function: ast.FunctionDef, names: set[str]) -> bool:
    """Whether another function of the file is given a number for one of its shapes."""
    for call in nodes_like(function, ast.Call):
        if not isinstance(call.func, ast.Name):
            continue
        called = module.host_functions.get(call.func.id)
        if called is None:
            continue
        parameters = [a.arg for a in (*called.args.posonlyargs, *called.args.args)]
        pairs = [*zip(parameters, call.args, strict=False)]
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
        given = {p for p, node in pairs if isinstance(node, ast.Name) and node.id in names}
        if given and _decides_shape(module, called, None, given):
            return True
    return False
