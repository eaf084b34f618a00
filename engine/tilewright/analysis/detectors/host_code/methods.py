"""Detector of questions that are never asked: a method's name where its answer was meant."""

import ast
from collections.abc import Iterable, Iterator

from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.host_graph.build import launching_functions
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.nodes import nodes_like, nodes_of
from tilewright.source.model import Launch, Module

_METHODS = ("is_contiguous", "numel", "item")
"""Methods of torch.Tensor that a host function asks, and that no dtype has as a field."""
_CALLED = (*_METHODS, "contiguous", "stride", "size", "clone", "view", "reshape")


@detector("method_not_called", host=True)
def method_not_called(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``if x.is_contiguous:``, which is true of every tensor."""
    for name, launches in launching_functions(module).items():
        host = module.host_functions[name]
        tests = [t for t in _tests(host) if isinstance(t, ast.Attribute) and t.attr in _METHODS]
        tensors = _tensors(host, launches) if tests else set()
        for test in tests:
            if isinstance(test.value, ast.Name) and test.value.id in tensors:
                yield Finding(
                    module.index.range_of(test),
                    f"{ast.unparse(test)} is the method itself, which is always true; the "
                    f"question is {ast.unparse(test)}().",
                )


def _tensors(host: ast.FunctionDef, launches: Iterable[Launch]) -> set[str]:
    """Names that kernels get or whose methods of tensors are called.

    Fields of other objects have the names of these methods as well.
    """
    found = {a.id for x in launches for a in x.arguments.values() if isinstance(a, ast.Name)}
    for node in nodes_like(host, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                if method in _CALLED:
                    found.add(name)
    return found


def _tests(host: ast.FunctionDef) -> Iterator[ast.expr]:
    """What the function takes the truth of, without "not" and each side of "and" and "or"."""
    pending: list[ast.expr] = []
    for node in nodes_of(host):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            pending.append(node.test)
        elif isinstance(node, ast.BoolOp):
            pending += node.values[:-1]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            pending.append(node.operand)
    # The last side of "and" and "or" is their value: it is asked only where they are.
    for test in pending:
        if isinstance(test, ast.BoolOp):
            pending.append(test.values[-1])
    yield from {id(test): test for test in pending}.values()
