"""The knowledge base's constraints, checked on a candidate's source.

Only what is stated in the source is judged: a value computed at run time is left to the compiler.
A constraint that the original violates with the same message does not fail the candidate.
"""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

from tilewright.analysis.detectors.settings import Option, Setting, settings_of
from tilewright.analysis.flow import flow_of
from tilewright.analysis.intervals import number_of
from tilewright.analysis.model import AnalysisContext
from tilewright.analysis.tiles import Shape, created_shapes, tiles_of
from tilewright.knowledge.base import constraints
from tilewright.knowledge.model import CheckName
from tilewright.source.model import Kernel, Module
from tilewright.targets.model import Target

Parameters = Mapping[str, Any]

DETECTED: Mapping[CheckName, str] = {
    "option_forbidden": "device_option_on_wrong_backend",
    "option_values": "grf_mode_value",
    "call_forbidden": "removed_api",
    "keyword_forbidden": "removed_api",
    "launch_repeats_tuned": "autotune_duplicate_params",
}
"""Checks that detectors make, by the issue that they report. The taxonomy marks it ``certain``."""


def constraint_violations(
    original: Module,
    candidate: Module,
    target: Target | None,
    triton_version: tuple[int, int] | None,
) -> list[str]:
    """What the candidate breaks and the original does not, a sentence each.

    The checks of ``DETECTED`` are not among them.
    """
    known = set(_violations(original, target, triton_version))
    found = dict.fromkeys(_violations(candidate, target, triton_version))
    return [text for text in found if text not in known]


def _violations(
    module: Module, target: Target | None, triton_version: tuple[int, int] | None
) -> Iterator[str]:
    stated = [(k, settings_of(module, k, AnalysisContext())) for k in module.kernels]
    for constraint in constraints(target, triton_version):
        if constraint.severity != "error" or constraint.check.name in DETECTED:
            continue
        check, parameters = _CHECKS[constraint.check.name], constraint.check.parameters
        for kernel, settings in stated:
            for what in check(module, kernel, settings, parameters):
                yield f"{kernel.name}: {what}: {constraint.statement} ({constraint.id})"


def _options(settings: list[Setting], parameters: Parameters) -> Iterator[tuple[str, Option]]:
    name = parameters["option"]
    for value in (setting.options.get(name) for setting in settings):
        yield f"{name}={value!r}", value


def _option_power_of_two(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    for text, value in _options(settings, parameters):
        if value is not None and not _is_power_of_two(value):
            yield text


def _is_power_of_two(value: Option) -> bool:
    return isinstance(value, int) and value > 0 and value & (value - 1) == 0


def _option_maximum(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    for text, value in _options(settings, parameters):
        if isinstance(value, int) and value > parameters["maximum"]:
            yield text


def _option_maximum_when(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    when, values = parameters["when"], set(map(str, parameters["values"]))
    concerned = [setting for setting in settings if str(setting.options.get(when)) in values]
    yield from _option_maximum(module, kernel, concerned, parameters)


def _tile_power_of_two(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    for _, _, shape in created_shapes(module, kernel):
        for number in (number_of(extent, one.numbers) for one in settings for extent in shape):
            if number is not None and not _is_power_of_two(number):
                yield f"a tile extent of {number}"


def _tile_maximum_elements(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    for _, _, shape in created_shapes(module, kernel):
        for setting in settings:
            size = _elements(shape, setting)
            if size > parameters["maximum"]:
                yield f"a tile of {size} elements"


def _dot_minimum(
    module: Module, kernel: Kernel, settings: list[Setting], parameters: Parameters
) -> Iterator[str]:
    """The size of the elements is not known from the source, so K has the least of its bounds."""
    least = (parameters["m"], parameters["n"], min(parameters["k"].values()))
    tiles = tiles_of(module, kernel)
    for call, dot, _ in flow_of(module, kernel).calls("triton.language.dot"):
        shapes = [tiles.facts_of(operand).shape or () for operand in dot.operands[:2]]
        if [len(shape) for shape in shapes] != [2, 2]:
            continue
        extents = (shapes[0][0], shapes[1][1], shapes[0][1])
        for setting in settings:
            for axis, extent, bound in zip("MNK", extents, least, strict=True):
                number = number_of(extent, setting.numbers)
                if number is not None and number < bound:
                    yield f"line {call.lineno}, tl.dot with {axis} of {number}"


def _elements(shape: Shape, setting: Setting) -> int:
    """Of a tile, as far as its extents are stated."""
    return prod(number_of(extent, setting.numbers) or 1 for extent in shape)


_CHECKS: Mapping[
    CheckName, Callable[[Module, Kernel, list[Setting], Parameters], Iterator[str]]
] = {
    "option_power_of_two": _option_power_of_two,
    "option_maximum": _option_maximum,
    "option_maximum_when": _option_maximum_when,
    "tile_power_of_two": _tile_power_of_two,
    "tile_maximum_elements": _tile_maximum_elements,
    "dot_minimum": _dot_minimum,
}
