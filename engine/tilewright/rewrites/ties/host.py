"""What the host code ties to a constexpr: by the name that it passes, or by the same number.

What is computed from the name follows it; whatever reads the outcome may not, which only a
comparison of results tells. So it is with a number that is written twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from tilewright.rewrites.grid import WrittenGrid, floors, meta_key, written_grid
from tilewright.rewrites.scope import (
    host_scope,
    literal_int,
    names_in,
    only_value,
    reaching_names,
    statement_of,
    uses,
)
from tilewright.rewrites.ties.kernel import KernelTies
from tilewright.rewrites.ties.model import Ties, joined
from tilewright.source.model import Kernel, Launch, Module

_LEAST = 8
"""Smaller numbers are written everywhere, and size no tile."""


class HostTies:
    """Ties of one constexpr, by the host code around one launch."""

    def __init__(self, module: Module, kernel: Kernel, launch: Launch, name: str) -> None:
        self._module = module
        self._kernel = kernel
        self._launch = launch
        self._name = name
        self._scope = host_scope(module, launch)
        given = launch.arguments.get(name)
        self._passed = given.id if isinstance(given, ast.Name) else None
        self._launches = {id(p): one for one in module.launches for p in ast.walk(one.node)}
        grid = written_grid(module, launch)
        in_grid = [launch.grid, *(grid.expressions() if isinstance(grid, WrittenGrid) else ())]
        self._grid = {id(node) for part in in_grid for node in ast.walk(part)}

    def ties(self, present: int | None) -> Ties:
        """What there is, where it is ``present`` now."""
        found = [*self._of_name(), *self._of_grid(present)]
        if present is not None and present >= _LEAST:
            found += [Ties(doubts=(doubt,)) for doubt in self._of_number(present)]
        return joined(found)

    def _of_grid(self, present: int | None) -> Iterator[Ties]:
        """A grid that rounds down leaves out what a larger tile does not divide."""
        grid = written_grid(self._module, self._launch)
        for part in grid.expressions() if isinstance(grid, WrittenGrid) else ():
            for node in floors(self._module, part):
                key = meta_key(node.right, grid.meta) if isinstance(grid, WrittenGrid) else None
                passed = isinstance(node.right, ast.Name) and node.right.id == self._passed
                same = present is not None and literal_int(node.right) == present
                if key == self._name or passed or same:
                    yield Ties(whole=f"line {node.lineno}: the grid rounds down")

    def follows(self, parameter: str) -> bool:
        """Whether the buffer passed for a pointer has a shape that follows the constexpr's name."""
        given = self._launch.arguments.get(parameter)
        if self._passed is None or not isinstance(given, ast.Name):
            return False
        return self._passed in reaching_names(self._scope, given)

    def _of_name(self) -> Iterator[Ties]:
        if self._passed is None:
            return
        for node in uses(self._scope, self._passed):
            launch = self._launch_around(node)
            if id(node) in self._grid:
                continue
            if launch is None:
                yield self._of_statement(node)
            elif launch.node is not self._launch.node or not self._is_own(node):
                yield self._of_launch(launch, node)

    def _is_own(self, node: ast.Name) -> bool:
        return node is self._launch.arguments.get(self._name)

    def _launch_around(self, node: ast.AST) -> Launch | None:
        return self._launches.get(id(node))

    def _of_launch(self, launch: Launch, node: ast.Name) -> Ties:
        """It is passed to another parameter as well, perhaps of another kernel."""
        for parameter, given in launch.arguments.items():
            kernel = self._module.kernel(launch.kernel)
            if given is not node or kernel is None or parameter not in kernel.constexprs:
                continue
            other = KernelTies(self._module, kernel, parameter)
            found, who = other.ties(), f"{parameter} of {kernel.name} is it too"
            ties = Ties(
                fixed=f"{who}, and {found.fixed}" if found.fixed else "",
                whole=f"{who}, and {found.whole}" if found.whole else "",
                doubts=tuple(f"{who}, and {doubt}" for doubt in found.doubts),
                followers=(who,),
            )
            grid = written_grid(self._module, launch)
            parts = grid.expressions() if isinstance(grid, WrittenGrid) else [launch.grid]
            if other.is_counted_by_programs and not any(node.id in names_in(e) for e in parts):
                ties = Ties(fixed=f"{who}, whose grid does not follow it")
            return ties
        return _followed(f"line {node.lineno} passes it to {launch.kernel} as well")

    def _of_statement(self, node: ast.Name) -> Ties:
        statement = statement_of(self._scope, node)
        if isinstance(statement, ast.Assert) or _raises(statement):
            return Ties(whole=f"line {node.lineno} asks something of it")
        return _followed(f"line {node.lineno} of the host code is computed from it")

    def _of_number(self, present: int) -> Iterator[str]:
        for node in ast.walk(self._scope):
            if literal_int(node) == present and id(node) not in self._grid:
                launch = self._launch_around(node)
                if launch is None and not self._is_definition(node):
                    yield f"line {_line(node)} of the host code has the same number"
                elif launch is not None and self._shares_memory(launch):
                    yield f"line {_line(node)} launches {launch.kernel} with the same number"
            elif isinstance(node, ast.Name) and self._is_other_constant(node, present):
                yield f"{node.id} in line {node.lineno} is the same number"
        for node in ast.walk(self._kernel.node):
            if literal_int(node) == present and not self._is_default(node):
                yield f"line {_line(node)} of the kernel has the same number"

    def _is_definition(self, node: ast.AST) -> bool:
        """A literal that a name of the host code stands for; what uses the name counts, not it."""
        return id(node) in self._defining

    @cached_property
    def _defining(self) -> set[int]:
        values = [s.value for s in ast.walk(self._scope) if isinstance(s, ast.Assign)]
        if isinstance(self._scope, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = self._scope.args
            values += [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        parts = (part for v in values for part in (v.elts if isinstance(v, ast.Tuple) else [v]))
        return {id(part) for part in parts if isinstance(part, ast.Constant)}

    def _shares_memory(self, launch: Launch) -> bool:
        """Whether another launch gets one of this one's buffers."""
        if launch.node is self._launch.node:
            return False
        mine = {g.id for g in self._launch.arguments.values() if isinstance(g, ast.Name)}
        return any(isinstance(g, ast.Name) and g.id in mine for g in launch.arguments.values())

    def _is_other_constant(self, node: ast.Name, present: int) -> bool:
        if node.id == self._passed or not isinstance(node.ctx, ast.Load):
            return False
        if id(node) in self._grid or self._launch_around(node) is not None:
            return False
        value = only_value(self._scope, node.id) or only_value(self._module.tree, node.id)
        return literal_int(value) == present

    def _is_default(self, node: ast.AST) -> bool:
        args = self._kernel.node.args
        around = [*self._kernel.node.decorator_list, *args.defaults]
        around += [default for default in args.kw_defaults if default is not None]
        return any(part is node for one in around for part in ast.walk(one))


def _followed(told: str) -> Ties:
    return Ties(doubts=(told,), followers=(told,))


def _raises(statement: ast.stmt | None) -> bool:
    return isinstance(statement, ast.If) and any(isinstance(s, ast.Raise) for s in statement.body)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))
