"""Pinning constexprs and compiler options where a kernel is launched, the grid following along."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tilewright.rewrites.calls import append_keywords, literal
from tilewright.rewrites.configs import autotune_call, config_source, configs_node
from tilewright.rewrites.edit import Patch
from tilewright.rewrites.grid import Division, divisions, floors, meta_keys, written_grid
from tilewright.rewrites.model import Refusal, RefusedError, refusal_returned
from tilewright.rewrites.scope import (
    Scope,
    assignments,
    host_scope,
    keyword,
    literal_int,
    names_in,
    only_value,
    parameters,
    same,
    uses,
)
from tilewright.rewrites.ties import grid_axes
from tilewright.rewrites.tiles import (
    configured,
    coverage,
    current_value,
    default_of,
    extents,
    present_value,
    ties_at,
)
from tilewright.source.grids import grid_of
from tilewright.source.model import Kernel, Launch, Module

Value = int | float | bool | str


@dataclass
class _Pinning:
    """One launch being edited: what goes where, and which literals now hold which value."""

    module: Module
    kernel: Kernel
    launch: Launch
    patch: Patch
    redefined: dict[tuple[int, int], int | str] = field(default_factory=dict)

    @cached_property
    def axes(self) -> frozenset[str]:
        """Constexprs that the grid must follow."""
        return coverage(self.kernel, self.module)

    @cached_property
    def extents(self) -> Mapping[str, str]:
        """Constexpr to the parameter that bounds what it tiles."""
        return extents(self.module, self.kernel)


@refusal_returned
def set_launch_config(
    module: Module,
    kernel: Kernel | str,
    values: Mapping[str, Value],
    options: Mapping[str, Value],
) -> str:
    """The file with constexpr ``values`` and compiler ``options`` fixed at the only launch.

    An autotuned kernel gets this one configuration in place of its list. The grid is kept in
    step; a grid that cannot be kept in step, a computed value or a second launch is refused.
    """
    found = module.kernel(kernel) if isinstance(kernel, str) else kernel
    if found is None:
        raise RefusedError(f"there is no kernel {kernel!r} in the file")
    launches = module.launches_of(found.name)
    if len(launches) != 1:
        raise RefusedError(f"{found.name} has {len(launches)} launches in the file; one is needed")
    pinning = _Pinning(module, found, launches[0], Patch(module))
    _check(pinning, values)
    _pin(pinning, values, options)
    return pinning.patch.apply()


def _check(p: _Pinning, values: Mapping[str, Value]) -> None:
    if not p.launch.is_complete:
        raise RefusedError(f"the launch of {p.kernel.name} hides arguments behind * or **")
    for name, value in values.items():
        if name not in p.kernel.constexprs:
            raise RefusedError(f"{name} is not a constexpr of {p.kernel.name}")
        if name in p.kernel.heuristics:
            raise RefusedError(f"{name} is computed by triton.heuristics")
        _check_ties(p, name, value)


def _check_ties(p: _Pinning, name: str, value: Value) -> None:
    """Refuse what would come apart from something else that cannot change with it."""
    if value in configured(p.kernel, name):
        return  # its author's own choice
    present = present_value(p.module, p.kernel, p.launch, name)
    why = ties_at(p.module, p.kernel, p.launch, name).refusal(name, present, value)
    if why:
        raise RefusedError(why)


def _pin(p: _Pinning, values: Mapping[str, Value], options: Mapping[str, Value]) -> None:
    at_launch, at_launch_options = dict(values), dict(options)
    if p.kernel.autotune is not None:
        tuned = _tuned_names(p.kernel)
        given = {n for n in values if n in p.launch.arguments and n not in tuned}
        _check_grid(p, values)
        _pin_configs(p, {n: v for n, v in values.items() if n not in given}, options)
        at_launch = {n: values[n] for n in given}
        at_launch_options = {}
        repeated = [n for n in options if n in p.launch.options]
        if repeated:
            raise RefusedError(
                f"the launch passes {repeated[0]}, which its configurations also set"
            )
    else:
        _check_grid(p, values)
    new = [
        *(_pinned_value(p, name, value) for name, value in at_launch.items()),
        *(_pinned_option(p, name, value) for name, value in at_launch_options.items()),
    ]
    append_keywords(p.patch, p.launch.node, [text for text in new if text])
    p.patch.fold(p.launch.node)


def _tuned_names(kernel: Kernel) -> set[str]:
    configs = kernel.autotune.configs if kernel.autotune else None
    if configs is None:
        raise RefusedError("the autotune configurations are not written as literals")
    return {name for config in configs for name in config.values}


def _pin_configs(p: _Pinning, values: Mapping[str, Value], options: Mapping[str, Value]) -> None:
    call = autotune_call(p.module, p.kernel)
    node = configs_node(call) if call is not None else None
    configs = p.kernel.autotune.configs if p.kernel.autotune else None
    if call is None or node is None or not configs:
        raise RefusedError("the autotune decorator states no configurations")
    if "pre_hook" in p.patch.source(call):
        raise RefusedError("the autotune configurations have a pre_hook")
    merged: dict[str, Value] = {}
    for name in {n: None for config in configs for n in config.values}:
        merged[name] = _merged(name, values, [c.values.get(name) for c in configs])
    merged |= values
    shared = {n: _shared([c.options.get(n) for c in configs]) for c in configs for n in c.options}
    kept = {n: v for n, v in shared.items() if v is not None}
    config = config_source(p.module, merged, {**kept, **options})
    p.patch.replace(node, f"[{config}]")


def _merged(name: str, values: Mapping[str, Value], stated: list[Value | None]) -> Value:
    if name in values:
        return values[name]
    value = _shared(stated)
    if value is None:
        raise RefusedError(f"the configurations disagree on {name}, and no value is given for it")
    return value


def _shared(stated: list[Value | None]) -> Value | None:
    return stated[0] if all(v == stated[0] for v in stated) else None


def _pinned_option(p: _Pinning, name: str, value: Value) -> str:
    """Set an option in place; the text to append when the launch does not have it."""
    given = p.launch.options.get(name)
    if given is None:
        return f"{name}={literal(value)}"
    if not (isinstance(given, ast.Constant) and given.value == value):
        p.patch.replace(given, literal(value))
    return ""


def _pinned_value(p: _Pinning, name: str, value: Value) -> str:
    """Set a constexpr in place; the text to append when the launch does not pass it."""
    given = p.launch.arguments.get(name)
    if given is None:
        return f"{name}={literal(value)}"
    if isinstance(given, ast.Constant):
        if given.value != value:
            p.patch.replace(given, literal(value))
        return ""
    if not isinstance(given, ast.Name):
        raise RefusedError(f"the host computes {name} as {p.patch.source(given)!r}")
    definition = _definition(p, given.id, name)
    place = (definition.lineno, definition.col_offset)
    if p.redefined.setdefault(place, _key(value)) != _key(value):
        raise RefusedError(
            f"{given.id} is passed for several constexprs that want different values"
        )
    if literal_int(definition) != value and len([k for k in p.redefined if k == place]) == 1:
        _redefine(p, definition, value)
    return ""


def _key(value: Value) -> int | str:
    return value if type(value) is int else repr(value)


def _redefine(p: _Pinning, definition: ast.expr, value: Value) -> None:
    start, end = p.patch.span(definition)
    already = p.patch.rendered(start, end) != p.patch.text[start:end]
    if not already:
        p.patch.replace(definition, literal(value))


def _definition(p: _Pinning, local: str, name: str) -> ast.expr:
    """The literal that a host name was set to, where changing it changes this kernel alone."""
    scope = host_scope(p.module, p.launch)
    value = only_value(scope, local)
    if value is None and local in parameters(scope) and not assignments(scope, local):
        value = _default(p.module, scope, local)
    elif value is None and not assignments(scope, local):
        value = only_value(p.module.tree, local)
        if value is not None and not _used_here_only(p.module.tree, scope, local):
            raise RefusedError(f"{local} is also used outside the launch of {p.kernel.name}")
    if not isinstance(value, ast.Constant):
        raise RefusedError(
            f"{name} is passed as {local}, which is not set to a literal exactly once"
        )
    return value


def _default(module: Module, scope: Scope, local: str) -> ast.expr | None:
    """The default of a host function's parameter, if no call in the file passes another value."""
    assert isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = [*scope.args.posonlyargs, *scope.args.args]
    place = next((i for i, a in enumerate(arguments) if a.arg == local), None)
    for node in ast.walk(module.tree):
        if not (isinstance(node, ast.Call) and scope.name in names_in(node.func)):
            continue
        if keyword(node, local) or (place is not None and len(node.args) > place):
            return None
    return default_of(scope, local)


def _used_here_only(tree: ast.Module, scope: Scope, local: str) -> bool:
    inside = {id(node) for node in ast.walk(scope)}
    return all(id(node) in inside for node in uses(tree, local))


def _check_grid(p: _Pinning, values: Mapping[str, Value]) -> None:
    """Rewrite literal blocks of the grid, and refuse where the grid would fall out of step."""
    changed = {
        name: value
        for name, value in values.items()
        if name in p.axes and current_value(p.module, p.kernel, p.launch, name) != value
    }
    if not changed:
        return
    grid = written_grid(p.module, p.launch)
    if isinstance(grid, Refusal):
        _check_grid_of(p, changed, grid.reason)
        return
    expressions = list(grid.expressions())
    followed = {key for e in expressions for key in meta_keys(e, grid.meta)}
    names = {n for e in expressions for n in names_in(e)}
    for name, value in changed.items():
        given = p.launch.arguments.get(name)
        by_name = isinstance(given, ast.Name) and given.id in names
        if not by_name and name not in followed:
            along = grid_axes(p.module, p.kernel, name)
            _rewrite_literals(p, list(grid.expressions(along)), name, value)


def _check_grid_of(p: _Pinning, changed: Mapping[str, Value], reason: str) -> None:
    """Refuse what a grid function of several statements does not take from its argument."""
    called = grid_of(p.module, p.launch)
    chosen = {name for axis in called.axes for name in axis.chosen} if called else set()
    if not set(changed) <= chosen:
        raise RefusedError(reason)


def _rewrite_literals(p: _Pinning, expressions: list[ast.expr], name: str, value: Value) -> None:
    rounding_up = [d for e in expressions for d in divisions(p.module, e)]
    down = [Division(n, n.left, n.right) for e in expressions for n in floors(p.module, e)]
    found = [d for d in (*rounding_up, *down) if _divides_by(p, d, name)]
    if not found:
        raise RefusedError(f"the grid does not follow {name}, so the output would not be covered")
    rivals = [n for n in p.axes - {name} if grid_axes(p.module, p.kernel, n) is None]
    if any(_divides_by(p, d, rival) for d in found for rival in rivals):
        raise RefusedError(f"the grid does not show which of its tiles are those of {name}")
    for d in {id(d.node): d for d in found}.values():
        for node in ast.walk(d.node):
            if literal_int(node) == literal_int(d.block) and _is_block(d, node):
                p.patch.replace(node, literal(value))  # type: ignore[arg-type]


def _is_block(d: Division, node: ast.AST) -> bool:
    """The block itself, and its twin in ``(x + b - 1) // b``."""
    if node is d.block:
        return True
    twin = d.node.left if isinstance(d.node, ast.BinOp) else None
    inner = twin.left if isinstance(twin, ast.BinOp) else None
    return isinstance(inner, ast.BinOp) and node is inner.right


def _divides_by(p: _Pinning, d: Division, name: str) -> bool:
    """Whether a division of the grid is the one over what this constexpr tiles."""
    present = current_value(p.module, p.kernel, p.launch, name)
    if literal_int(d.block) is None or literal_int(d.block) != present:
        return False
    bounds = p.extents
    if name in bounds:
        given = p.launch.arguments.get(bounds[name])
        return given is None or same(given, d.extent)
    rivals = [
        other
        for other in p.axes - {name}
        if current_value(p.module, p.kernel, p.launch, other) == present
    ]
    return not rivals
