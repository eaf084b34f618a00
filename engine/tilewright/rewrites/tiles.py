"""Which constexprs of a kernel are tile sizes, what each one tiles, and which may change.

``tunable`` is what a tuner asks before it proposes a launch configuration.
"""

import ast
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.analysis.per_kernel import Same, kept_by
from tilewright.python_syntax import parameter_defaults
from tilewright.rewrites.grid import division
from tilewright.rewrites.model import RefusedError, refusal_returned
from tilewright.rewrites.pointers import Shapes, pointer_of, stores_whole_blocks
from tilewright.rewrites.scope import (
    Scope,
    argument,
    assignments,
    host_scope,
    is_tl_call,
    literal_int,
    names_in,
    only_value,
    parameters,
    statements,
    targets_of,
)
from tilewright.rewrites.ties import Ties, is_counted_by_programs, ties_of
from tilewright.source.model import Kernel, Launch, Module

_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce")
_KEPT = 512
_GROUP_NAMES = ("GROUP_M", "GROUP_SIZE_M", "GROUP_SIZE")


class TileKind(StrEnum):
    """What a kernel's tiles are of: a matrix product, whole rows, or elements one by one."""

    DOT = "dot"
    ROW = "row"
    ELEMENTWISE = "elementwise"


@dataclass(frozen=True)
class Tunable:
    """What a tuner may turn at a kernel's only launch.

    Attributes:
        roles: role to constexpr: "m", "n", "k", "group" of a product; "row" or "block" otherwise.
        values: constexpr to its present literal; None where the host computes it.
        free: constexprs of ``roles`` that ``set_launch_config`` can pin without changing results.
        options: num_warps and the like that the launch or its one configuration states.
        extents: role to the kernel parameter that bounds it ("m" to "M"), where it is known.
        operands: "lhs", "rhs" of a product to the pointer parameter it is loaded from.
        axes: constexprs that decide how many programs cover the output.
        whole_blocks: whether results are stored by block pointers or tensor descriptors alone.
        ties: what belongs together with each of ``roles``.
        present: constexpr to its value, of several configurations to what all of them divide.
        listed: constexpr to its values in the configurations of an autotuned kernel.
    """

    kernel: str
    kind: TileKind
    roles: Mapping[str, str]
    values: Mapping[str, int | None]
    free: tuple[str, ...]
    options: Mapping[str, int | float | bool | str]
    extents: Mapping[str, str] = field(default_factory=dict)
    operands: Mapping[str, str] = field(default_factory=dict)
    axes: tuple[str, ...] = ()
    whole_blocks: bool = False
    ties: Mapping[str, Ties] = field(default_factory=dict)
    present: Mapping[str, int | None] = field(default_factory=dict)
    listed: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def fixed_reasons(self) -> Mapping[str, str]:
        """Constexprs that must stay as they are, and why."""
        return {name: found.fixed for name, found in self.ties.items() if found.fixed}

    @property
    def limited(self) -> Mapping[str, str]:
        """Constexprs that may only be a divisor of what they are, and why."""
        return {n: found.whole for n, found in self.ties.items() if found.whole and not found.fixed}

    def refusal(self, values: Mapping[str, int]) -> str:
        """Why these values would come apart from something else; empty where they would not."""
        told = (
            self.ties[name].refusal(name, self.present.get(name), value)
            for name, value in values.items()
            if name in self.ties and value not in self.listed.get(name, ())
        )
        return next(filter(None, told), "")

    def doubts(self, names: Iterable[str]) -> tuple[str, ...]:
        """What may have to change with these and does not: only comparing results tells."""
        told = (f"{n}: {doubt}" for n in names if n in self.ties for doubt in self.ties[n].doubts)
        return tuple(told)


@refusal_returned
def tunable(module: Module, kernel: Kernel | str) -> Tunable:
    """The tile sizes and options of a kernel that has one launch, or why none can be turned."""
    found = module.kernel(kernel) if isinstance(kernel, str) else kernel
    if found is None:
        raise RefusedError(f"there is no kernel {kernel!r} in the file")
    launches = module.launches_of(found.name)
    if len(launches) != 1:
        raise RefusedError(f"{found.name} has {len(launches)} launches in the file; one is needed")
    return _tunable(module, found, launches[0])


def _tunable(module: Module, kernel: Kernel, launch: Launch) -> Tunable:
    roles = tile_roles(module, kernel)
    if not roles:
        raise RefusedError(f"no constexpr of {kernel.name} sizes a tile")
    blocks = extents(module, kernel)
    kind = _kind(module, kernel, roles)
    covering = coverage(kernel, module)
    axes = tuple(name for name in roles.values() if name in covering)
    values = {name: current_value(module, kernel, launch, name) for name in roles.values()}
    ties = {name: ties_at(module, kernel, launch, name) for name in roles.values()}
    return Tunable(
        kernel=kernel.name,
        kind=kind,
        roles=roles,
        values=values,
        free=tuple(
            n
            for r, n in roles.items()
            if not ties[n].fixed and _is_free(module, kernel, launch, r, n)
        ),
        options=_options(kernel, launch),
        extents={role: blocks[name] for role, name in roles.items() if name in blocks},
        operands=_operands(module, kernel),
        axes=axes,
        whole_blocks=stores_whole_blocks(module, kernel),
        ties=ties,
        present={name: present_value(module, kernel, launch, name) for name in roles.values()},
        listed={name: configured(kernel, name) for name in roles.values()},
    )


def dots(module: Module, kernel: Kernel) -> list[ast.Call]:
    """The kernel's ``tl.dot`` calls in text order."""
    return [
        node
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Call) and is_tl_call(module, node, "dot")
    ]


def tile_roles(module: Module, kernel: Kernel) -> Mapping[str, str]:
    """Role to constexpr: m, n, k (and group) of the first product, else row or block."""
    constexprs = set(kernel.constexprs)
    shapes = Shapes(module, kernel)
    for dot in dots(module, kernel):
        a = shapes.shape_of(argument(dot, 0, "input"))
        b = shapes.shape_of(argument(dot, 1, "other"))
        if a and b and len(a) == len(b) == 2:
            named = {"m": a[0], "n": b[1], "k": a[1] if isinstance(a[1], str) else b[0]}
            roles = {role: str(d) for role, d in named.items() if d in constexprs}
            group = next((g for g in _GROUP_NAMES if g in constexprs), None)
            return {**roles, "group": group} if group and roles else roles
    aranges = [
        end.id
        for node in ast.walk(kernel.node)
        if isinstance(node, ast.Call) and is_tl_call(module, node, "arange")
        if isinstance(end := argument(node, 1, "end"), ast.Name) and end.id in constexprs
    ]
    found = list(dict.fromkeys(aranges))
    if len(found) != 1 or dots(module, kernel):
        return {}
    return {"row" if _reduces(module, kernel) else "block": found[0]}


def _reduces(module: Module, kernel: Kernel) -> bool:
    return any(is_tl_call(module, node, *_REDUCTIONS) for node in ast.walk(kernel.node))


def _kind(module: Module, kernel: Kernel, roles: Mapping[str, str]) -> TileKind:
    if "row" in roles:
        return TileKind.ROW
    return TileKind.ELEMENTWISE if "block" in roles else TileKind.DOT


@kept_by(lambda kernel, module: (Same(module), kernel.node), _KEPT)
def coverage(kernel: Kernel, module: Module) -> frozenset[str]:
    """Constexprs that scale a program id: the grid must follow them.

    A tile index drawn from ``range(program_id, ...)`` covers the output whatever the grid is.
    """
    tainted: set[str] = set()
    for statement in statements(kernel.node):
        value = getattr(statement, "value", None)
        if not isinstance(value, ast.expr) or isinstance(statement, ast.Expr):
            continue
        if _has_program_id(module, value) or names_in(value) & tainted:
            tainted.update(targets_of(statement))
    found: set[str] = set()
    for node in ast.walk(kernel.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for block, other in ((node.left, node.right), (node.right, node.left)):
                scales = names_in(other) & tainted or _has_program_id(module, other)
                if scales and isinstance(block, ast.Name) and block.id in kernel.constexprs:
                    found.add(block.id)
    found |= {n for n in _ended_by(module, kernel) if is_counted_by_programs(module, kernel, n)}
    return frozenset(found - set(_GROUP_NAMES))


def _ended_by(module: Module, kernel: Kernel) -> set[str]:
    """Constexprs that size something: in the kernel, or in a helper that they are given to."""
    calls = [node for node in ast.walk(kernel.node) if isinstance(node, ast.Call)]
    given = (names_in(part) for call in calls for part in (*call.args, *call.keywords))
    return set().union(*given) & set(kernel.constexprs)


def _has_program_id(module: Module, node: ast.expr) -> bool:
    return any(is_tl_call(module, n, "program_id") for n in ast.walk(node))


@kept_by(lambda module, kernel: (Same(module), kernel.node), _KEPT)
def extents(module: Module, kernel: Kernel) -> Mapping[str, str]:
    """Constexpr to the run-time parameter that bounds what it tiles: ``BLOCK_M`` to ``M``."""
    runtime = {p.name for p in kernel.parameters if not p.is_constexpr}
    blocks = set(kernel.constexprs)
    shapes = Shapes(module, kernel)
    found: dict[str, str] = {}
    for node in ast.walk(kernel.node):
        for block, bound in _bounds(module, shapes, node):
            names = [n for n in sorted(_through(kernel, bound)) if n in runtime]
            if block in blocks and len(names) == 1:
                found.setdefault(block, names[0])
    return found


def _bounds(module: Module, shapes: Shapes, node: ast.AST) -> list[tuple[str, ast.expr]]:
    pairs: list[tuple[str, ast.expr]] = []
    d = division(module, node) if isinstance(node, ast.expr) else None
    if d is not None and isinstance(d.block, ast.Name):
        pairs.append((d.block.id, d.extent))
    match node:
        case ast.Call(func=func, args=[_, end, ast.Name(id=step)]) if _is_range(module, func):
            pairs.append((step, end))
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
        pairs += [(d, node.comparators[0]) for d in _block_dims(shapes, node.left)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        pairs += [(d, node.right) for d in _block_dims(shapes, node.left)]
    return pairs


def _is_range(module: Module, function: ast.expr) -> bool:
    return module.names.resolve(function) in ("range", "triton.language.range")


def _block_dims(shapes: Shapes, node: ast.expr) -> list[str]:
    shape = shapes.shape_of(node) or ()
    named = [d for d in shape if d != 1]
    return [d for d in named if isinstance(d, str)] if len(named) == 1 else []


def _through(kernel: Kernel, bound: ast.expr) -> set[str]:
    """Names of a bound; a loop's own ``k * BLOCK`` and single assignments are looked through."""
    names = names_in(bound)
    for name in list(names):
        value = only_value(kernel.node, name)
        if value is not None and name not in parameters(kernel.node):
            names |= names_in(value)
    return names


def current_value(module: Module, kernel: Kernel, launch: Launch, name: str) -> int | None:
    """The literal a constexpr has at the launch, in its one configuration, or by default."""
    if kernel.autotune is not None and kernel.autotune.configs:
        stated = [c.values.get(name) for c in kernel.autotune.configs]
        if any(name in c.values for c in kernel.autotune.configs):
            value = stated[0]
            return value if len(set(stated)) == 1 and isinstance(value, int) else None
    given = launch.arguments.get(name)
    if given is None:
        parameter = kernel.parameter(name)
        default = parameter.default if parameter else None
        return int(default) if default and default.isdigit() else None
    return literal_int(resolved(module, launch, given))


def present_value(module: Module, kernel: Kernel, launch: Launch, name: str) -> int | None:
    """``current_value``; of several configurations the least number that all of them divide."""
    known = current_value(module, kernel, launch, name)
    stated = configured(kernel, name)
    return math.lcm(*stated) if known is None and stated else known


def configured(kernel: Kernel, name: str) -> tuple[int, ...]:
    """What a constexpr is in the configurations of an autotuned kernel."""
    configs = (kernel.autotune.configs if kernel.autotune else None) or ()
    values = [config.values.get(name) for config in configs]
    return tuple(dict.fromkeys(v for v in values if type(v) is int and v > 0))


@kept_by(lambda module, kernel, at, name: (Same(module), kernel.node, at.node, name), _KEPT)
def ties_at(module: Module, kernel: Kernel, launch: Launch, name: str) -> Ties:
    """What belongs together with a constexpr of a launch."""
    # A number that a tuner varies is written nowhere else, or its kernel would be wrong as it is.
    present = current_value(module, kernel, launch, name)
    return ties_of(module, kernel, launch, name, present, group=name in _GROUP_NAMES)


def resolved(module: Module, launch: Launch, node: ast.expr) -> ast.expr:
    """A launch argument, or the literal that its name was set to once."""
    if not isinstance(node, ast.Name):
        return node
    scope = host_scope(module, launch)
    value = only_value(scope, node.id)
    if value is None and not assignments(scope, node.id):
        given = node.id in parameters(scope)
        value = default_of(scope, node.id) if given else only_value(module.tree, node.id)
    return node if value is None else value


def default_of(scope: Scope, name: str) -> ast.expr | None:
    """The default value of a function's parameter."""
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    return next((default for a, default in parameter_defaults(scope.args) if a.arg == name), None)


def _options(kernel: Kernel, launch: Launch) -> Mapping[str, int | float | bool | str]:
    stated = {
        name: node.value
        for name, node in launch.options.items()
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str)
    }
    configs = kernel.autotune.configs if kernel.autotune else None
    if configs and len(configs) == 1:
        stated |= {k: v for k, v in configs[0].options.items() if v is not None}
    return stated


def _is_free(module: Module, kernel: Kernel, launch: Launch, role: str, name: str) -> bool:
    if name in kernel.heuristics:
        return False
    if role == "row":
        return current_value(module, kernel, launch, name) is not None and _strides(kernel, name)
    if role == "k":
        return _strides(kernel, name)
    if kernel.autotune is not None or role == "group":
        return True
    return current_value(module, kernel, launch, name) is not None


def _strides(kernel: Kernel, name: str) -> bool:
    """Whether some loop of the kernel goes on by this block, so that any size covers all."""
    return any(
        isinstance(node, ast.For) and name in names_in(node.iter) for node in ast.walk(kernel.node)
    )


def _operands(module: Module, kernel: Kernel) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for dot in dots(module, kernel)[:1]:
        for side, place, word in (("lhs", 0, "input"), ("rhs", 1, "other")):
            operand = argument(dot, place, word)
            pointer = pointer_of(module, kernel, operand) if operand is not None else None
            if pointer is not None:
                found[side] = pointer
    return found
