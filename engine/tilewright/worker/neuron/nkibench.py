"""Calls of NKIBench: a kernel between the functions that bring its inputs and results into place.

What is compared are all elements of each output in their order, in rows of a length that follows
from their number: the benchmark reshapes a kernel's results to those of the reference, which the
process of a candidate does not have.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ..protocol import JobError

FORWARD = "forward"
_LONGEST_ROW = 4096
_TO_KERNEL, _FROM_KERNEL = "transform_to_nki_inputs", "transform_nki_outputs"
_LEFT_OUT = (FORWARD, "get_inputs")


class _AnyShape:
    """Stands for a reference's result: one dimension of as many elements as there are."""

    shape = (-1,)


def kernel_call(kernel: Callable[..., Any], layout: str) -> Callable[..., Any]:
    """A kernel of NKIBench as a function of what ``get_inputs`` gives; each output in rows."""
    module = _transforms(layout)
    to_kernel, from_kernel = getattr(module, _TO_KERNEL), getattr(module, _FROM_KERNEL)

    def call(*inputs: Any) -> Any:
        given = kernel(*to_kernel(list(inputs)))
        count = len(given) if isinstance(given, tuple) else 1
        shapes = tuple(_AnyShape() for _ in range(count))
        return in_rows(from_kernel(given, shapes if count > 1 else shapes[0]))

    return call


def reference_call(forward: Callable[..., Any]) -> Callable[..., Any]:
    """A reference of NKIBench, each output in rows."""

    def call(*inputs: Any) -> Any:
        return in_rows(forward(*inputs))

    return call


def in_rows(outputs: Any) -> list[Any]:
    """Each output as rows of the same length, which errors are judged by."""
    several = outputs if isinstance(outputs, list | tuple) else (outputs,)
    return [np.reshape(one, (-1, max(math.gcd(np.size(one), _LONGEST_ROW), 1))) for one in several]


def _transforms(path: str) -> ModuleType:
    """A reference's module without the functions that make inputs and compute the result."""
    tree = ast.parse(Path(path).read_bytes(), path)
    tree.body = list(_kept_statements(tree.body))
    module = ModuleType(f"layout_{Path(path).stem}")
    module.__file__ = path
    exec(compile(tree, path, "exec"), vars(module))
    for name in (_TO_KERNEL, _FROM_KERNEL):
        if not callable(getattr(module, name, None)):
            raise JobError(f"{path} defines no {name}")
    return module


def _kept_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if not (isinstance(statement, ast.FunctionDef) and statement.name in _LEFT_OUT):
            yield statement
