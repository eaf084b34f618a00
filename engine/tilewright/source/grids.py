"""The grid of a launch in one form, whichever way it is written."""

import ast
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from tilewright.source.host import resolve
from tilewright.source.model import Launch, Module


@dataclass(frozen=True)
class Axis:
    """How many programs there are along one axis.

    ``META["BLOCK"]`` in ``expression`` is replaced by what the launch gives for ``BLOCK``, or,
    where autotune or a heuristic chooses it, by the plain name. ``chosen`` are these names.
    """

    expression: ast.expr
    chosen: frozenset[str]


@dataclass(frozen=True)
class Grid:
    """A launch's axes, x first."""

    axes: tuple[Axis, ...]


def grid_of(module: Module, launch: Launch) -> Grid | None:
    """The grid of a launch; None where the source does not show its axes."""
    try:
        return _grid_of(module, launch)
    except RecursionError:  # copying goes several calls down for each level of an expression
        return None


def _grid_of(module: Module, launch: Launch) -> Grid | None:
    node = resolve(module, launch, launch.grid)
    if isinstance(node, ast.Lambda):
        return _callable_grid(node.body, _only(node.args), {}, launch)
    if isinstance(node, ast.Name):
        function = _function(module, launch, node.id)
        return None if function is None else _of_function(function, launch)
    axes = _parts(node)
    return None if axes is None else Grid(tuple(Axis(a, frozenset()) for a in axes))


def _parts(node: ast.expr) -> list[ast.expr] | None:
    if isinstance(node, ast.Tuple | ast.List):
        return None if any(isinstance(e, ast.Starred) for e in node.elts) else node.elts
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [node]
    return None


def _only(args: ast.arguments) -> str | None:
    return args.args[0].arg if len(args.args) == 1 else None


def _function(module: Module, launch: Launch, name: str) -> ast.FunctionDef | None:
    """The function of that name that the launch sees, innermost first."""
    scope = (launch.host_function or "").split(".") if launch.host_function else []
    for depth in range(len(scope), -1, -1):
        found = module.host_functions.get(".".join((*scope[:depth], name)))
        if found is not None:
            return found
    return None


def _of_function(function: ast.FunctionDef, launch: Launch) -> Grid | None:
    """Of ``def grid(META)``: plain assignments and one ``return`` at its end."""
    local: dict[str, ast.expr] = {}
    for statement in function.body[:-1]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in local:
                local[name] = _Given(local, None, {}).visit(deepcopy(value))
            case ast.Expr(value=ast.Constant()) | ast.Assert():
                continue
            case _:
                return None
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        return None
    return _callable_grid(last.value, _only(function.args), local, launch)


def _callable_grid(
    node: ast.expr, meta: str | None, local: Mapping[str, ast.expr], launch: Launch
) -> Grid | None:
    parts = _parts(node)
    if parts is None or meta is None:
        return None
    axes = []
    for part in parts:
        given = _Given(local, meta, launch.arguments)
        expression = given.visit(given.visit(deepcopy(part)))
        axes.append(Axis(expression, frozenset(given.chosen)))
    return Grid(tuple(axes))


class _Given(ast.NodeTransformer):
    """Puts what is known in the place of local names and of ``META[...]``, in copies of nodes."""

    def __init__(
        self, local: Mapping[str, ast.expr], meta: str | None, arguments: Mapping[str, ast.expr]
    ) -> None:
        self._local = local
        self._meta = meta
        self._arguments = arguments
        self.chosen: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.expr:
        known = self._local.get(node.id)
        return node if known is None else deepcopy(known)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)):
                if name == self._meta:
                    return self._chosen(node, key)
        return self.generic_visit(node)

    def _chosen(self, node: ast.expr, key: str) -> ast.expr:
        given = self._arguments.get(key)
        if given is not None:
            return deepcopy(given)
        self.chosen.add(key)
        return ast.copy_location(ast.Name(key, ast.Load()), node)
