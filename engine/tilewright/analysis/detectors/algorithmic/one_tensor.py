"""Parameters to which every launch passes one and the same argument."""

import ast
from collections.abc import Mapping

from tilewright.analysis.detectors.common import source_of
from tilewright.analysis.values import Value
from tilewright.source.model import Kernel, Module

_MOST_STEPS = 60


def one_tensor(module: Module, kernel: Kernel) -> Mapping[str, str]:
    """A name that stands for each parameter, the same for those that always get the same argument.

    Empty where the file has no launch, or where each argument is passed once.
    """
    launches = module.launches_of(kernel.name)
    if not launches or not all(launch.is_certain for launch in launches):
        return {}
    groups: dict[tuple[str, ...], list[str]] = {}
    for parameter in kernel.parameters:
        given = [launch.arguments.get(parameter.name) for launch in launches]
        if all(node is not None and _is_plain(node) for node in given):
            texts = tuple(source_of(module, node) for node in given if node is not None)
            groups.setdefault(texts, []).append(parameter.name)
    return {name: names[0] for names in groups.values() if len(names) > 1 for name in names}


def _is_plain(node: ast.expr) -> bool:
    """A name, a part of one, or what is asked of it: no call that may allocate."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=inner):
            return _is_plain(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="stride" | "size")):
            return _is_plain(inner)
        case ast.Subscript(value=inner):
            return _is_plain(inner)
    return False


def is_equal_under(one: Value, two: Value, same: Mapping[str, str], depth: int = 0) -> bool:
    """Whether two values are equal where parameters of one name stand for one argument."""
    if one is two:
        return True
    if depth > _MOST_STEPS or one.op != two.op or len(one.operands) != len(two.operands):
        return False
    if one.op == "param":
        first = same.get(str(one.detail))
        return first is not None and first == same.get(str(two.detail))
    if one.op in ("opaque", "load", "phi", "after") or one.varies != two.varies:
        return False
    if one.detail != two.detail or one.keywords != two.keywords:
        return False
    return all(
        is_equal_under(a, b, same, depth + 1)
        for a, b in zip(one.operands, two.operands, strict=True)
    )
