"""Detector of questions that are never asked: a method's name where its answer was meant."""

import ast
from collections.abc import Iterator

from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_of
from tilewright.source.model import Module

_METHODS = ("is_contiguous", "numel", "item")
"""Methods of torch.Tensor that a host function asks, and that no dtype has as a field."""


@detector("method_not_called", host=True)
def method_not_called(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``if x.is_contiguous:``, which is true of every tensor."""
    for name in launching_functions(module):
        for test in _tests(module.host_functions[name]):
            if isinstance(test, ast.Attribute) and _is_of_tensor(test):
                yield Finding(
                    module.index.range_of(test),
                    f"{ast.unparse(test)} is the method itself, which is always true; the "
                    f"question is {ast.unparse(test)}().",
                )


def _is_of_tensor(test: ast.Attribute) -> bool:
    """Whether it can only be a tensor's method: fields of other objects may have its name."""
    is_name = isinstance(test.value, ast.Name) and test.value.id not in ("self", "cls")
    return is_name and test.attr in _METHODS


def _tests(host: ast.FunctionDef) -> Iterator[ast.expr]:
    """What the function takes the truth of, without "not" and each side of "and" and "or"."""
    pending: list[ast.expr] = []
    for node in nodes_of(host):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            pending.append(node.test)
        elif isinstance(node, ast.BoolOp):
            pending += node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            pending.append(node.operand)
    yield from {id(test): test for test in pending}.values()
