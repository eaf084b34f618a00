"""The grid of a launch with other tile sizes, by the host's own expression of it."""

import ast
from collections.abc import Hashable, Sequence

from tilewright.analysis.per_kernel import Same, kept_by
from tilewright.source.host_numbers import HostNumbers, evaluated
from tilewright.source.model import Kernel, Launch, Module
from tilewright.targets.model import ArgumentFacts, LaunchFacts


def grid_with(
    module: Module, kernel: Kernel, launch: LaunchFacts, changed: LaunchFacts
) -> tuple[int, ...] | None:
    """The grid of ``changed``, which is ``launch`` with other constexprs.

    None where the host's expression cannot be followed, or does not give the grid that
    ``launch`` is known to have.
    """
    for one in module.launches_of(kernel.name):
        axes = _axes(module, one, launch)
        known = _evaluated(axes, launch)
        if known is not None and (not launch.grid or known == _whole(launch.grid)):
            return _evaluated(axes, changed)
    return None


def _whole(grid: tuple[int, ...]) -> tuple[int, ...]:
    return (*grid, 1, 1, 1)[:3]


def _key(module: Module, launch: Launch, facts: LaunchFacts) -> Hashable:
    return Same(module), Same(launch), Same(facts)


@kept_by(_key, 64)
def _axes(module: Module, launch: Launch, facts: LaunchFacts) -> tuple[str, ...] | None:
    return _LaunchNumbers(module, launch, facts).axes()


def _evaluated(axes: tuple[str, ...] | None, facts: LaunchFacts) -> tuple[int, ...] | None:
    if axes is None:
        return None
    try:
        return _whole(tuple(int(evaluated(axis, facts.settings)) for axis in axes))
    except (NameError, ArithmeticError, TypeError, ValueError):
        return None


class _LaunchNumbers(HostNumbers):
    """What the facts of a launch say of its arguments; all its constexprs stay open."""

    def __init__(self, module: Module, launch: Launch, facts: LaunchFacts) -> None:
        super().__init__(module, launch)
        self._facts = facts
        passed = launch.arguments.items()
        self._passed = {ast.dump(node): name for name, node in passed}

    def known(self, node: ast.expr, chosen: frozenset[str]) -> str | None:
        if isinstance(node, ast.Constant):
            return None
        own = node.id if isinstance(node, ast.Name) else ""
        argument = self._facts.argument(self._passed.get(ast.dump(node), own))
        if argument is None or argument.value is None:
            return None
        return argument.name if argument.kind == "constexpr" else _number(argument)

    def extents(self, parameter: str, attribute: str) -> Sequence[int] | None:
        argument = self._facts.argument(parameter)
        if argument is None:
            return None
        return argument.shape if attribute == "shape" else argument.strides


def _number(argument: ArgumentFacts) -> str | None:
    return str(argument.value) if isinstance(argument.value, int) else None
