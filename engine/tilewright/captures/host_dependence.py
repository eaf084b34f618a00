"""What of a file's host code a captured launch does not stand for: it runs the kernel alone."""

import ast
from collections.abc import Iterator

from tilewright.source.model import Launch, Module

_IMPORTS = (ast.Import, ast.ImportFrom)


def host_change(original: Module, candidate: Module) -> str | None:
    """Where two files differ outside of kernels, their tuning, and their launches.

    Imports may be added. None if nothing else differs.
    """
    if original.text == candidate.text:
        return None
    before, after = _outline(original, candidate), _outline(candidate, original)
    if before == after:
        return None
    gone = [name for name, text in before if (name, text) not in after]
    new = [name for name, text in after if (name, text) not in before and name != "import"]
    return next(iter((*gone, *new)), None)


def _outline(module: Module, other: Module) -> tuple[tuple[str, str], ...]:
    """(what it is called, its text in a form where launches are reduced to what is passed).

    Left out is what may differ from ``other``.
    """
    told = _Told(module, other)
    found = []
    for statement in module.tree.body:
        text = told.text_of(statement)
        if text:
            found.append((_name(statement), text))
    return tuple(found)


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, _IMPORTS):
        return "import"
    name = getattr(statement, "name", None)
    return str(name) if name else f"line {statement.lineno}"


class _Told:
    """Texts of a file's statements without what a rewrite of kernels and launches may change."""

    def __init__(self, module: Module, other: Module) -> None:
        self._module = module
        self._skipped = {id(kernel.node) for kernel in module.kernels}
        self._launches: dict[int, Launch] = {id(x.node): x for x in module.launches}
        self._skip_names(module.tree.body, _of_tuning(module) | _of_tuning(other))
        for name, function in module.host_functions.items():
            wanted, used = _of_launching(module, name)
            theirs, used_there = _of_launching(other, name)
            names = (wanted | theirs) - used - used_there
            self._skip_names(list(_statements(function)), names)

    def _skip_names(self, statements: list[ast.stmt], names: set[str]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                    self._skipped.add(id(statement))
                case ast.FunctionDef(name=name) if name in names:
                    self._skipped.add(id(statement))

    def text_of(self, node: object) -> str:
        """The text of a node; empty where it is left out."""
        if id(node) in self._skipped:
            return ""
        launch = self._launches.get(id(node))
        if launch is not None:
            return self._launch(launch)
        if isinstance(node, ast.AST):
            inner = ", ".join(self.text_of(value) for _, value in ast.iter_fields(node))
            return f"{type(node).__name__}({inner})"
        if isinstance(node, list):
            return f"[{', '.join(filter(None, map(self.text_of, node)))}]"
        return repr(node)

    def _launch(self, launch: Launch) -> str:
        runtime = sorted(_runtime(launch, self._module).items())
        return f"launch {launch.kernel}({', '.join(f'{n}={self.text_of(v)}' for n, v in runtime)})"


def _runtime(launch: Launch, module: Module) -> dict[str, ast.expr]:
    """What a launch gives for parameters that are no constexprs."""
    kernel = module.kernel(launch.kernel)
    constexprs = kernel.constexprs if kernel else ()
    return {name: given for name, given in launch.arguments.items() if name not in constexprs}


def _of_tuning(module: Module) -> set[str]:
    """Names that kernels' decorators use."""
    return {
        node.id
        for kernel in module.kernels
        for decorator in kernel.node.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Name)
    }


def _of_launching(module: Module, name: str) -> tuple[set[str], set[str]]:
    """Names in a function: those in its launches' grids, constexprs and options; those elsewhere.

    A name that serves launches alone may change with them.
    """
    function = module.host_functions.get(name)
    if function is None:
        return set(), set()
    inside = [launch for launch in module.launches if _holds(function, launch.node)]
    hidden = [node for launch in inside for node in _hidden(launch, module)]
    wanted = {node.id for node in hidden if isinstance(node, ast.Name)}
    shown = {id(node) for node in hidden}
    used = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in shown
    }
    return wanted, used - _within_grids(function, wanted)


def _within_grids(function: ast.FunctionDef, wanted: set[str]) -> set[str]:
    """Names that only functions and assignments of such names use: a grid's own, say."""
    own: set[str] = set()
    elsewhere: set[str] = set()
    for statement in _statements(function):
        if not isinstance(statement, ast.Assign | ast.Return | ast.Expr | ast.AugAssign):
            continue
        read = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)]) if target in wanted:
                own |= read - {target}
            case _:
                elsewhere |= read
    return own - elsewhere


def _hidden(launch: Launch, module: Module) -> Iterator[ast.AST]:
    """Nodes of a launch that are not compared: its grid, constexprs and options."""
    runtime = {id(node) for node in _runtime(launch, module).values()}
    for given in (launch.grid, *launch.arguments.values(), *launch.options.values()):
        if id(given) not in runtime:
            yield from ast.walk(given)


def _holds(function: ast.FunctionDef, node: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(function))


def _statements(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    return (
        node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function
    )
