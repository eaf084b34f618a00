"""Detectors of tiles that lie in memory otherwise than they are read."""

import ast
from collections.abc import Iterator, Mapping

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.memory_access.columns import column_walks
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.detectors.sizes import BYTES, elements_of, polynomial_number
from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import Numbers, number_of
from tilewright.analysis.model import AnalysisContext, Finding, Related
from tilewright.analysis.tiles import Kind, Polynomial, Tiles, tiles_of
from tilewright.analysis.tiles.parameters import call_of
from tilewright.analysis.values import Access, Flow, Value
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import LaunchFacts

_SECTOR = 32
_HELPERS = 3
"""How many helpers, one in another, are followed to where a tile ends."""
_SMALL = 64
"""Elements up to which the accesses of a tile are too few to matter."""


@detector("transpose_in_loop")
def transpose_in_loop(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """A tile loaded in each iteration of a loop and transposed before it is used."""
    for kernel, flow in triton_kernels(module):
        transposed = _transposed(flow)
        if not transposed:
            continue
        users, tiles = _users(flow), tiles_of(module, kernel, context)
        for value, (node, access) in transposed.items():
            into = _beyond_casts(value, users)
            if all(_is_operand(module, flow, user, value) for user in into):
                # Where tensor instructions read operands from shared memory, either way does.
                continue
            pointer = tiles.facts_of(access.pointer)
            if pointer.kind is not Kind.POINTER or len(pointer.shape or ()) != 2:
                continue
            if _used_straight(value, access, users):
                continue
            yield Finding(
                module.index.range_of(access.node),
                f"This tile of {access.base or 'memory'} is transposed in each iteration of the "
                "loop, which moves its elements between threads; loaded with the index vectors "
                "exchanged it has the wanted shape at once.",
                kernel.name,
                related=(Related("transposed here", module.index.range_of(node)),),
            )


def _transposed(flow: Flow) -> dict[Value, tuple[ast.expr, Access]]:
    """Transposes of what is loaded in the same turn of a loop, with their node and load."""
    loads = {a.result: a for a in flow.loads if a.loops and a.result is not None}
    found: dict[Value, tuple[ast.expr, Access]] = {}
    if not loads:
        return found
    for node, value in flow.values.items():
        if _is_transpose(value):
            access = loads.get(_origin(value))
            if access is not None and access.loops[-1] in value.varies:
                found[value] = (node, access)
    return found


def _is_transpose(value: Value) -> bool:
    if value.op == "attribute" and value.detail == "T":
        return True
    if value.op == "method" and value.detail == "trans":
        return len(value.operands) == 1
    return value.is_call(TL + "trans") and len(value.operands) == 1


def _origin(value: Value) -> Value:
    """What a transpose is of, without casts."""
    return value.operands[0].uncast


def _users(flow: Flow) -> Mapping[Value, list[Value]]:
    found: dict[Value, list[Value]] = {}
    for value in {id(v): v for v in flow.values.values()}.values():
        for operand in value.operands:
            found.setdefault(operand, []).append(value)
    return found


def _beyond_casts(value: Value, users: Mapping[Value, list[Value]]) -> list[Value]:
    """What uses a value, or a cast of it, or a choice between it and others."""
    found = []
    for user in users.get(value, []):
        found += _beyond_casts(user, users) if user.op in ("cast", "select") else [user]
    return found


def _is_operand(module: Module, flow: Flow, user: Value, value: Value, depth: int = 0) -> bool:
    """Whether a value goes into a product: of the kernel, or of a helper that it calls."""
    name, positional, keywords = call_of(flow, user)
    helper = None if name is None else module.kernel(name)
    if helper is None or depth > _HELPERS:
        return user.op == "dot"
    given = [*zip((p.name for p in helper.parameters), positional, strict=False), *keywords.items()]
    names = {name for name, part in given if part.uncast is value.uncast}
    inner = flow_of(module, helper)
    users = _users(inner)
    parameters = [v for v in users if v.op == "param" and v.detail in names]
    into = [(v, user) for v in parameters for user in _beyond_views(v, users)]
    return bool(into) and all(_is_operand(module, inner, u, v, depth + 1) for v, u in into)


def _beyond_views(value: Value, users: Mapping[Value, list[Value]]) -> list[Value]:
    """What uses a value, beyond casts and transposes of it."""
    found = []
    for user in _beyond_casts(value, users):
        found += _beyond_views(user, users) if _is_transpose(user) else [user]
    return found


def _used_straight(value: Value, access: Access, users: Mapping[Value, list[Value]]) -> bool:
    """Whether the tile is needed as it was loaded, too."""
    assert access.result is not None
    return any(user is not value for user in _beyond_casts(access.result, users))


@detector("uncoalesced_access")
def uncoalesced_access(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """Tiles with no axis along which neighbours are near in memory."""
    for kernel, flow in triton_kernels(module):
        launches = [x for x in context.launches if x.kernel == kernel.name]
        if not launches:
            yield from column_walks(module, kernel, flow)
            continue
        interleaved = _interleaved(flow, tiles_of(module, kernel, context))
        for access in flow.accesses:
            if access.pointer in interleaved:
                continue
            steps = [_steps(module, kernel, context, access, launch) for launch in launches]
            if None in steps or not steps:
                continue
            nearest = min(min(s) for s in steps if s is not None)
            if nearest < _SECTOR:
                continue
            yield Finding(
                module.index.range_of(access.node),
                f"Neighbouring elements of this tile of {access.base or 'memory'} lie at least "
                f"{nearest} bytes apart along every axis, so each one moves a whole "
                f"{_SECTOR}-byte sector.",
                kernel.name,
            )


def _interleaved(flow: Flow, tiles: Tiles) -> set[Value]:
    """Addresses next to others that lie a constant away: together they may read whole sectors."""
    groups: dict[object, dict[Polynomial, list[Value]]] = {}
    for access in flow.accesses:
        facts = tiles.facts_of(access.pointer)
        if facts.affine is not None and facts.base is not None:
            key = (facts.base, access.kind, frozenset(facts.affine.terms))
            groups.setdefault(key, {}).setdefault(facts.affine.constant, []).append(access.pointer)
    return {p for group in groups.values() if len(group) > 1 for ps in group.values() for p in ps}


def _steps(
    module: Module, kernel: Kernel, context: AnalysisContext, access: Access, launch: LaunchFacts
) -> list[int] | None:
    """Bytes between neighbours along each axis that has any; None if one is not known."""
    facts = tiles_of(module, kernel, context).facts_of(access.pointer)
    numbers = Numbers.of_launch(launch)
    size = elements_of(facts.shape, numbers)
    argument = launch.argument(facts.base or "")
    width = BYTES.get(argument.type.removeprefix("*")) if argument is not None else None
    if size is None or size <= _SMALL or facts.strides is None or width is None:
        return None
    steps = []
    for dim, stride in zip(facts.shape or (), facts.strides, strict=False):
        if number_of(dim, numbers) == 1:
            continue
        step = None if stride is None else polynomial_number(stride, numbers)
        if step is None:
            return None
        if step != 0:
            steps.append(abs(step) * width)
    return steps or None
