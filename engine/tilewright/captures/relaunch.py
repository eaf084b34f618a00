"""How a captured launch is made again with the kernel of another text.

The recorded arguments go in by the names of parameters. Constexprs and compiler options are those
of the record, unless the text's own launch, or the kernel's decorators, now say otherwise: then
the text counts. Host code is not run, so a text that changes more of it has no plan.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from tilewright.captures.host_dependence import host_change
from tilewright.problems.model import LaunchCase
from tilewright.source.host import last_assigned, resolve
from tilewright.source.host_numbers import HostNumbers, evaluated
from tilewright.source.model import Kernel, Launch, Module

_WITHOUT_HOST = (
    "a captured launch runs the kernel without its host code: write a spec for what changes that"
)
Value = int | float | bool | str | None


@dataclass(frozen=True)
class Plan:
    """What the worker is given to launch.

    Attributes:
        through: launch by the kernel's autotuner and heuristics, which choose what they choose;
            else the plain kernel with all constexprs given.
        axes: the grid as arithmetic over constexprs; None: ``grid`` as it was.
        options: compiler options, less those that a chosen configuration brings.
    """

    kernel: str
    through: bool
    grid: tuple[int, ...]
    axes: tuple[str, ...] | None
    values: Mapping[str, Value]
    options: Mapping[str, int | float | bool | str]


@dataclass(frozen=True)
class NoPlan:
    """Why a text's kernel cannot be launched as it was captured."""

    reason: str


class _NoPlanError(Exception):
    pass


def plan_of(original: Module, module: Module, call: LaunchCase) -> Plan | NoPlan:
    """How to launch ``module``'s kernel as ``original``'s was captured."""
    try:
        return _Planned(original, module, call).plan()
    except _NoPlanError as error:
        return NoPlan(str(error))


class _Planned:
    """One launch, and its kernel and place in the text it was captured with and in the new one."""

    def __init__(self, original: Module, module: Module, call: LaunchCase) -> None:
        self._original, self._module, self._call = original, module, call
        self._before = _kernel(original, call.kernel)
        self._after = _kernel(module, call.kernel)
        self._old, self._new = _site(original, call), _site(module, call)

    def plan(self) -> Plan:
        self._same_parameters()
        self._same_host()
        values, options = self._values_and_options()
        changed = {n for n, v in values.items() if v != self._call.values.get(n)}
        changed |= set(self._call.values) - set(values)
        axes = self._axes()
        through = self._through(axes)
        twice = sorted(_chosen(self._after) & set(self._new.arguments if self._new else ()))
        if twice:
            self._fail(f"its launch gives {', '.join(twice)}, and so do its decorators")
        if not through and (self._retuned() or (self._after.heuristics and changed)):
            self._fail(
                "its configurations changed, and the grid for others cannot be computed from the "
                "captured arguments"
            )
        missing = [n for n in self._call.values if n not in values]
        if missing and not through:
            self._fail(f"nothing gives it {', '.join(missing)} any more")
        if axes is None and changed and self._may_move(changed):
            self._fail(
                f"its grid cannot be computed from the captured arguments, so "
                f"{', '.join(sorted(changed))} must stay"
            )
        grid = self._call.grid if axes is None or through else self._grid(axes, values)
        return Plan(self._call.kernel, through, grid, axes if through else None, values, options)

    def _grid(self, axes: tuple[str, ...], values: Mapping[str, Value]) -> tuple[int, ...]:
        try:
            return tuple(evaluated(axis, values) for axis in axes)
        except (NameError, TypeError, ArithmeticError) as error:
            self._fail(f"its grid cannot be computed ({error})")

    def _fail(self, why: str) -> NoReturn:
        raise _NoPlanError(f"{self._call.kernel}: {why}; {_WITHOUT_HOST}")

    def _same_host(self) -> None:
        where = host_change(self._original, self._module)
        if where is not None:
            raise _NoPlanError(f"host code changed ({where}); {_WITHOUT_HOST}")

    def _same_parameters(self) -> None:
        wanted = {view.name for view in self._call.views} | set(self._call.values)
        there = {parameter.name for parameter in self._after.parameters}
        gone = sorted(wanted - there)
        if gone:
            self._fail(
                f"parameter {', '.join(gone)} is gone or renamed; arguments were captured by "
                "parameter name"
            )
        free = {p.name for p in self._after.parameters if p.default is not None}
        given = set(self._new.arguments if self._new else ()) & set(self._after.constexprs)
        new = sorted(there - wanted - free - given - _chosen(self._after))
        if new:
            self._fail(f"parameter {', '.join(new)} is new, and no captured launch gives it")

    def _values_and_options(self) -> tuple[dict[str, Value], dict[str, int | float | bool | str]]:
        """Values and options, the text's own where it changed them."""
        values, options = dict(self._call.values), dict(self._call.options)
        old, new = _written(self._original, self._old), _written(self._module, self._new)
        known = {parameter.name for parameter in self._after.parameters}
        views = {view.name for view in self._call.views}
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) == new.get(name):
                continue
            if name in views:
                self._fail(f"its launch gives another tensor for {name}")
            if name not in new:
                values.pop(name, None)
                options.pop(name, None)
                continue
            value = self._value(name)
            if name in known:
                values[name] = value
            elif value is not None:
                options[name] = value
        return values, options

    def _value(self, name: str) -> Value:
        launch = self._new
        assert launch is not None
        node = launch.arguments.get(name) or launch.options[name]
        node = resolve(self._module, launch, node)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | bool | str):
            return node.value
        number = CapturedNumbers(self._module, launch, self._call).number(node)
        if number is None:
            self._fail(f"its launch now gives {name} as `{ast.unparse(node)}`, which is not known")
        return number

    def _axes(self) -> tuple[str, ...] | None:
        """The grid's arithmetic, where it gives what was recorded for the recorded arguments."""
        if self._old is None or self._new is None:
            return None
        recorded = CapturedNumbers(self._original, self._old, self._call).axes()
        if recorded is None:
            return None
        try:
            again = tuple(evaluated(axis, self._call.values) for axis in recorded)
        except (NameError, TypeError, ArithmeticError):
            return None
        if again != self._call.grid[: len(again)] or set(self._call.grid[len(again) :]) - {1}:
            return None
        return CapturedNumbers(self._module, self._new, self._call).axes()

    def _through(self, axes: tuple[str, ...] | None) -> bool:
        kernel = self._after
        if kernel.other_decorators or not (kernel.autotune or kernel.heuristics):
            return False
        if axes is not None:
            return True
        reads = self._call.grid_reads
        return reads is not None and not set(reads) & (_chosen(kernel) or set(reads))

    def _retuned(self) -> bool:
        return _decorators(self._before) != _decorators(self._after)

    def _may_move(self, changed: set[str]) -> bool:
        """Whether the grid may depend on what changed."""
        reads = self._call.grid_reads
        constexprs = changed & set(self._after.constexprs)
        return bool(constexprs if reads is None else constexprs & set(reads))


def _kernel(module: Module, name: str) -> Kernel:
    found = module.kernel(name)
    if found is None:
        raise _NoPlanError(f"kernel {name} is gone; keep it under its name")
    return found


def _site(module: Module, call: LaunchCase) -> Launch | None:
    """Where the text launches the kernel; of several places, the one that was recorded."""
    found = [x for x in module.launches_of(call.kernel) if not x.is_warmup and x.is_complete]
    if len(found) > 1 and call.site is not None:
        name = call.site.replace(".<locals>", "").removesuffix(".<lambda>")
        found = [launch for launch in found if launch.host_function == name]
    return found[0] if len(found) == 1 else None


def _written(module: Module, launch: Launch | None) -> dict[str, str]:
    """What a launch gives, as the text has it."""
    if launch is None:
        return {}
    given = {**launch.arguments, **launch.options}
    return {n: ast.unparse(resolve(module, launch, node)) for n, node in given.items()}


def _chosen(kernel: Kernel) -> set[str]:
    """Parameters that the kernel's own decorators choose, to the extent that the text shows it."""
    configs = kernel.autotune.configs if kernel.autotune else None
    named = {name for config in configs or () for name in config.values}
    return named | set(kernel.heuristics)


def _decorators(kernel: Kernel) -> list[str]:
    return [ast.unparse(decorator) for decorator in kernel.node.decorator_list]


class CapturedNumbers(HostNumbers):
    """What the record of a launch says of its arguments. A constant in the text stays that."""

    def __init__(self, module: Module, launch: Launch, call: LaunchCase) -> None:
        super().__init__(module, launch)
        self._values = call.values
        self._views = {view.name: view for view in call.views}
        kernel = module.kernel(launch.kernel)
        self._constexprs = frozenset(kernel.constexprs if kernel else ())

    def known(self, node: ast.expr, chosen: frozenset[str]) -> str | None:
        if not isinstance(node, ast.Name) or node.id in chosen:
            return node.id if isinstance(node, ast.Name) else None
        for parameter, given in self.launch.arguments.items():
            if isinstance(given, ast.Name) and given.id == node.id:
                if parameter in self._constexprs and self._is_open(given):
                    return parameter
                value = self._values.get(parameter)
                if type(value) is int and parameter not in self._constexprs:
                    return str(value)
        return None

    def extents(self, parameter: str, attribute: str) -> Sequence[int] | None:
        view = self._views.get(parameter)
        if view is None:
            return None
        return view.shape if attribute == "shape" else view.strides

    def _is_open(self, given: ast.Name) -> bool:
        """Whether a constexpr's host name has no value of its own in the text."""
        found = last_assigned(self.module, self.launch, given.id)
        return found is None or not isinstance(found.value, ast.Constant)
