"""The knowledge base's constraints, checked on a candidate's source.

Only what is stated in the source is judged: a value computed at run time is left to the compiler.
A constraint that the original violates with the same message does not fail the candidate.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.analysis.flow import flow_of
from tilewright.analysis.tiles import Dim, tiles_of
from tilewright.analysis.values import Value as FlowValue
from tilewright.knowledge import constraints
from tilewright.knowledge.model import Constraint
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

Value = int | float | bool | str | None
Parameters = Mapping[str, Any]

_CREATIONS = ("triton.language.zeros", "triton.language.full")


@dataclass(frozen=True)
class Stated:
    """One way a kernel is launched according to the source: constexprs and options."""

    kernel: Kernel
    values: Mapping[str, Value]
    options: Mapping[str, Value]


def constraint_violations(
    original: Module,
    candidate: Module,
    target: Target | None,
    triton_version: tuple[int, int] | None,
) -> list[str]:
    """What the candidate breaks and the original does not, a sentence each."""
    known = set(_violations(original, target, triton_version))
    found = dict.fromkeys(_violations(candidate, target, triton_version))
    return [text for text in found if text not in known]


def _violations(
    module: Module, target: Target | None, triton_version: tuple[int, int] | None
) -> Iterator[str]:
    stated = tuple(_stated(module))
    for constraint in _applicable(target, triton_version):
        check = _CHECKS[constraint.check.name]
        for where in check(module, stated, constraint.check.parameters):
            yield f"{where}: {constraint.statement} ({constraint.id})"


def _applicable(
    target: Target | None, triton_version: tuple[int, int] | None
) -> Iterator[Constraint]:
    for constraint in constraints(target, triton_version):
        if constraint.severity == "error":
            yield constraint


def _stated(module: Module) -> Iterator[Stated]:
    for kernel in module.kernels:
        configs = kernel.autotune.configs if kernel.autotune else None
        for launch in module.launches_of(kernel.name):
            values = {n: _literal(e) for n, e in launch.arguments.items()}
            options = {n: _literal(e) for n, e in launch.options.items()}
            if not configs:
                yield Stated(kernel, values, options)
            for config in configs or ():
                yield Stated(kernel, values | dict(config.values), options | dict(config.options))


def _literal(node: ast.expr) -> Value:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | bool | str):
        return node.value
    return None


def _power_of_two(value: Value) -> bool:
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def _where(stated: Stated, name: str, value: Value) -> str:
    return f"{stated.kernel.name} with {name}={value!r}"


def _option_power_of_two(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        value = each.options.get(parameters["option"])
        if value is not None and not _power_of_two(value):
            yield _where(each, parameters["option"], value)


def _option_maximum(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        value = each.options.get(parameters["option"])
        if isinstance(value, int) and value > parameters["maximum"]:
            yield _where(each, parameters["option"], value)


def _option_maximum_when(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    concerned = [
        each
        for each in stated
        if str(each.options.get(parameters["when"])) in map(str, parameters["values"])
    ]
    yield from _option_maximum(module, concerned, parameters)


def _option_values(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        value = each.options.get(parameters["option"])
        if value is not None and str(value) not in map(str, parameters["values"]):
            yield _where(each, parameters["option"], value)


def _option_forbidden(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        if parameters["option"] in each.options:
            yield _where(each, parameters["option"], each.options[parameters["option"]])


def _tiles(module: Module, each: Stated) -> Iterator[list[Value]]:
    """Extents of the tiles a kernel creates, under one way of launching it."""
    for node in ast.walk(each.kernel.node):
        if not isinstance(node, ast.Call):
            continue
        name = module.names.resolve(node.func)
        if name == "triton.language.arange" and len(node.args) == 2:
            low, high = (_value(each, argument) for argument in node.args)
            if type(low) is int and type(high) is int:
                yield [high - low]
        elif name in _CREATIONS and node.args and isinstance(node.args[0], ast.Tuple | ast.List):
            yield [_value(each, dimension) for dimension in node.args[0].elts]


def _value(each: Stated, node: ast.expr) -> Value:
    return each.values.get(node.id) if isinstance(node, ast.Name) else _literal(node)


def _tile_power_of_two(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        for extents in _tiles(module, each):
            for extent in extents:
                if type(extent) is int and not _power_of_two(extent):
                    yield f"{each.kernel.name} with a tile extent of {extent}"


def _tile_maximum_elements(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for each in stated:
        for extents in _tiles(module, each):
            size = 1
            for extent in extents:
                size *= extent if type(extent) is int else 1
            if size > parameters["maximum"]:
                yield f"{each.kernel.name} with a tile of {size} elements"


def _dot_minimum(module: Module, stated: Iterable[Stated], parameters: Parameters) -> Iterator[str]:
    """Operands' element size is not known from the source, so K is held to the least bound."""
    least = {"M": parameters["m"], "N": parameters["n"], "K": min(parameters["k"].values())}
    for each in stated:
        for call, value, _ in flow_of(module, each.kernel).calls("triton.language.dot"):
            for axis, extent in _dot_extents(module, each, value).items():
                if extent is not None and extent < least[axis]:
                    yield f"line {call.lineno}, tl.dot with {axis} of {extent}"


def _dot_extents(module: Module, each: Stated, dot: FlowValue) -> Mapping[str, int | None]:
    tiles = tiles_of(module, each.kernel)
    shapes = [tiles.of(operand).shape for operand in dot.operands[:2]]
    if len(shapes) < 2 or any(shape is None or len(shape) != 2 for shape in shapes):
        return {}
    (m, k), (_, n) = (shape or () for shape in shapes)
    return {axis: _extent(each, dim) for axis, dim in (("M", m), ("N", n), ("K", k))}


def _extent(each: Stated, dim: Dim) -> int | None:
    if isinstance(dim, int):
        return dim
    value = each.values.get(str(dim.detail)) if dim.op == "param" else dim.detail
    return value if type(value) is int else None


def _calls(module: Module) -> Iterator[tuple[ast.Call, str | None]]:
    for kernel in module.kernels:
        for node in ast.walk(kernel.node):
            if isinstance(node, ast.Call):
                yield node, module.names.resolve(node.func)


def _call_forbidden(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for node, name in _calls(module):
        if name in parameters["calls"]:
            yield f"line {node.lineno} calls {name}"


def _keyword_forbidden(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for node, name in _calls(module):
        passed = any(keyword.arg == parameters["keyword"] for keyword in node.keywords)
        if name == parameters["call"] and passed:
            yield f"line {node.lineno} passes {parameters['keyword']} to {name}"


def _launch_repeats_tuned(
    module: Module, stated: Iterable[Stated], parameters: Parameters
) -> Iterator[str]:
    for kernel in module.kernels:
        configs = kernel.autotune.configs if kernel.autotune else None
        tuned = {name for config in configs or () for name in (*config.values, *config.options)}
        for launch in module.launches_of(kernel.name):
            for name in sorted(tuned & {*launch.arguments, *launch.options}):
                yield f"line {launch.range.line} passes {name} to {kernel.name}"


_CHECKS: Mapping[str, Callable[[Module, Iterable[Stated], Parameters], Iterator[str]]] = {
    "option_power_of_two": _option_power_of_two,
    "option_maximum": _option_maximum,
    "option_maximum_when": _option_maximum_when,
    "option_values": _option_values,
    "option_forbidden": _option_forbidden,
    "tile_power_of_two": _tile_power_of_two,
    "tile_maximum_elements": _tile_maximum_elements,
    "dot_minimum": _dot_minimum,
    "call_forbidden": _call_forbidden,
    "keyword_forbidden": _keyword_forbidden,
    "launch_repeats_tuned": _launch_repeats_tuned,
}
