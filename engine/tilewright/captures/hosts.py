"""What of a file's host code a captured launch does not stand for: it runs the kernel alone."""

import ast
from collections.abc import Iterator

from tilewright.source.model import Launch, Module

_IMPORTS = (ast.Import, ast.ImportFrom)


def host_change(original: Module, candidate: Module) -> str | None:
    """Where two files differ beside kernels, their tuning, and how they are launched.

    Imports may be added. None if nothing else differs.
    """
    if original.text == candidate.text:
        return None
    before, after = _outline(original), _outline(candidate)
    if before == after:
        return None
    gone = [name for name, text in before if (name, text) not in after]
    new = [name for name, text in after if (name, text) not in before and name != "import"]
    return next(iter((*gone, *new)), None)


def _outline(module: Module) -> tuple[tuple[str, str], ...]:
    """(what it is called, its text in a form where launches are reduced to what is passed)."""
    told = _Told(module)
    found = []
    for statement in module.tree.body:
        text = told.of(statement)
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

    def __init__(self, module: Module) -> None:
        self._module = module
        self._skipped = {id(kernel.node) for kernel in module.kernels}
        self._launches: dict[int, Launch] = {id(x.node): x for x in module.launches}
        tuning = {
            node.id
            for kernel in module.kernels
            for decorator in kernel.node.decorator_list
            for node in ast.walk(decorator)
            if isinstance(node, ast.Name)
        }
        self._skip_names(module.tree.body, tuning)
        for function in module.host_functions.values():
            inside = [x for x in module.launches if _holds(function, x.node)]
            self._skip_names(list(_statements(function)), _of_launching(function, inside, module))

    def _skip_names(self, statements: list[ast.stmt], names: set[str]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                    self._skipped.add(id(statement))
                case ast.FunctionDef(name=name) if name in names:
                    self._skipped.add(id(statement))

    def of(self, node: object) -> str:
        """The text of a node; empty where it is left out."""
        if id(node) in self._skipped:
            return ""
        launch = self._launches.get(id(node))
        if launch is not None:
            return self._launch(launch)
        if isinstance(node, ast.AST):
            inner = ", ".join(self.of(value) for _, value in ast.iter_fields(node))
            return f"{type(node).__name__}({inner})"
        if isinstance(node, list):
            return f"[{', '.join(filter(None, map(self.of, node)))}]"
        return repr(node)

    def _launch(self, launch: Launch) -> str:
        runtime = sorted(_runtime(launch, self._module).items())
        return f"launch {launch.kernel}({', '.join(f'{n}={self.of(v)}' for n, v in runtime)})"


def _runtime(launch: Launch, module: Module) -> dict[str, ast.expr]:
    """What a launch gives for parameters that are no constexprs."""
    kernel = module.kernel(launch.kernel)
    constexprs = kernel.constexprs if kernel else ()
    return {name: given for name, given in launch.arguments.items() if name not in constexprs}


def _of_launching(function: ast.FunctionDef, launches: list[Launch], module: Module) -> set[str]:
    """Names of a function that serve its launches' grids, constexprs and options alone."""
    wanted: set[str] = set()
    for launch in launches:
        runtime = {id(node) for node in _runtime(launch, module).values()}
        given = [launch.grid, *launch.arguments.values(), *launch.options.values()]
        for node in given:
            if id(node) not in runtime:
                wanted |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    uses: set[str] = set()
    shown = {id(n) for launch in launches for n in _hidden(launch, module)}
    for inner in ast.walk(function):
        is_read = isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)
        if isinstance(inner, ast.Name) and is_read and id(inner) not in shown:
            uses.add(inner.id)
    # What a grid's own assignment uses is compared where it is used elsewhere too.
    return wanted - uses


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
