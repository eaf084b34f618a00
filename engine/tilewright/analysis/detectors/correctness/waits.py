"""Detector of loops that wait on a plain load, which the compiler removes."""

import ast
from collections import Counter
from collections.abc import Iterator

from tilewright.analysis.detectors.common import TL, triton_kernels
from tilewright.analysis.detectors.registry import Reports, kernel_detector
from tilewright.analysis.nodes import nodes_like
from tilewright.analysis.values import Flow
from tilewright.source.model import Kernel, Module

_PURE = (TL + "load", TL + "sum", TL + "max", TL + "min", "min", "max")


@kernel_detector("wait_on_load", triton_kernels)
def wait_on_load(module: Module, kernel: Kernel, flow: Flow) -> Reports:
    """``while tl.load(flag) == 0: pass``."""
    for loop in nodes_like(kernel.node, ast.While):
        loads = plain_waits(module, kernel, loop)
        if loads:
            yield (
                loads[0],
                "The program does not wait here: the compiler removes a loop that only loads, as "
                "it has no effect. tl.atomic_add(pointer, 0), or a load with volatile=True, "
                "stays.",
            )


def plain_waits(module: Module, kernel: Kernel, loop: ast.While) -> list[ast.Call]:
    """The loads of a loop without any effect, by which it asks whether to go on.

    It has none if it calls nothing but loads, none of them volatile, and gives values only to
    names that nothing outside of it reads.
    """
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    loads = [call for call in calls if module.names.is_call(call, TL + "load")]
    if not loads or not all(_is_pure(module, call) for call in calls):
        return []
    if not all(isinstance(s, ast.Pass | ast.Assign | ast.Expr) for s in loop.body) or loop.orelse:
        return []
    stores = [node for statement in loop.body for node in _stored(statement)]
    if not all(isinstance(node, ast.Name) for node in stores):
        return []
    names = {node.id for node in stores if isinstance(node, ast.Name)}
    if any(_reads(kernel.node)[name] > _reads(loop)[name] for name in names):
        return []
    return loads if _asks(loop.test, names) else []


def _is_pure(module: Module, call: ast.Call) -> bool:
    is_volatile = any(keyword.arg in ("volatile", None) for keyword in call.keywords)
    is_cast = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    return not is_volatile and (is_cast or module.names.is_call(call, *_PURE))


def _stored(statement: ast.stmt) -> Iterator[ast.expr]:
    yield from statement.targets if isinstance(statement, ast.Assign) else ()


def _reads(node: ast.AST) -> Counter[str]:
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return Counter(name.id for name in names if isinstance(name.ctx, ast.Load))


def _asks(test: ast.expr, names: set[str]) -> bool:
    """Whether a condition follows from what the loop loads."""
    return any(
        isinstance(node, ast.Call) or (isinstance(node, ast.Name) and node.id in names)
        for node in ast.walk(test)
    )
