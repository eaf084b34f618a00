"""The same call with something changed that no right result depends on.

Masked lanes of a load without ``other`` hold a number; tiles as long as the next power of two are
twice as long; a tile size that the host function states is another one.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import triton
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle, _get_np_dtype

from ..interpreter.batch_builder import BatchBuilder

if TYPE_CHECKING:
    from ..messages.drafted import Variation

_LANE = 77
"""Finite, so that a zero it is multiplied with takes it away."""


@contextlib.contextmanager
def varied(variation: Variation) -> Iterator[None]:
    """Run launches with the lanes and the powers of two that a variation asks for."""
    with contextlib.ExitStack() as stack:
        if variation.get("lanes"):
            for builder in (InterpreterBuilder, BatchBuilder):
                load = _filled(builder.create_masked_load)
                stack.enter_context(mock.patch.object(builder, "create_masked_load", load))
        if variation.get("doubled"):
            longer = _doubled(triton.next_power_of_2)
            stack.enter_context(mock.patch.object(triton, "next_power_of_2", longer))
        yield


def _filled(load: Callable[..., Any]) -> Callable[..., Any]:
    def filled(builder: Any, pointers: Any, mask: Any, other: Any, *rest: Any) -> Any:
        if other is None:
            kind = pointers.get_element_ty()
            lanes = np.full(pointers.data.shape, _LANE, dtype=_get_np_dtype(kind))
            other = TensorHandle(lanes, kind)
        return load(builder, pointers, mask, other, *rest)

    return filled


def _doubled(power: Callable[[int], int]) -> Callable[[int], int]:
    return lambda number: 2 * power(number)


def with_tiles(target: Any, module: ModuleType, path: str, tiles: tuple[int, int]) -> Any:
    """A function with each literal of a size replaced by another; None where it has none."""
    if not isinstance(target, FunctionType):
        return None
    tree = ast.parse(Path(path).read_bytes())
    own = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == target.__name__)
    function = next(own, None)
    if function is None:
        return None
    change = _Tiles(*tiles)
    changed = ast.Module([ast.fix_missing_locations(change.visit(function))], [])
    if not change.count:
        return None
    scope = dict(vars(module))
    exec(compile(changed, path, "exec"), scope)
    return scope[target.__name__]


class _Tiles(ast.NodeTransformer):
    def __init__(self, old: int, new: int) -> None:
        self._old = old
        self._new = new
        self.count = 0

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """A literal of the size."""
        if type(node.value) is int and node.value == self._old:
            self.count += 1
            return ast.copy_location(ast.Constant(self._new), node)
        return node
