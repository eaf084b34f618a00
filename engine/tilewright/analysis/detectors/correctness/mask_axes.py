"""Detector of masks that lie along another axis than the offsets they are for."""

from collections.abc import Iterator

from tilewright.analysis.detectors.common import triton_kernels
from tilewright.analysis.detectors.correctness.divisibility import (
    callers_state_divisibility,
    states_divisibility,
)
from tilewright.analysis.detectors.correctness.masks import additive_parts, terms, unexpanded
from tilewright.analysis.detectors.registry import detector
from tilewright.analysis.model import AnalysisContext, Finding
from tilewright.analysis.values import Access, Value, values_within
from tilewright.source.model import Module

_ROWS, _COLUMNS = ":,None", "None,:"


@detector("mask_wrong_axis")
def mask_wrong_axis(module: Module, context: AnalysisContext) -> Iterator[Finding]:
    """``rows[None, :] < M`` in the mask of an address that runs over ``rows[:, None]``."""
    for kernel, flow in triton_kernels(module):
        for access in flow.accesses:
            if access.mask is not None and _is_turned(access):
                # Where no block is cut off, all lanes are within either way.
                if states_divisibility(module, kernel) or callers_state_divisibility(
                    module, kernel
                ):
                    break
                yield Finding(
                    module.index.range_of(access.node),
                    "The mask bounds these offsets along the other axis than the address uses them "
                    "on: lanes outside are read or written, and lanes inside are left out.",
                    kernel.name,
                )


def _is_turned(access: Access) -> bool:
    """Whether some bounded offsets lie along one axis of the mask and only the other here."""
    address: dict[Value, set[str]] = {}
    for index, form in _oriented(access.pointer):
        address.setdefault(index, set()).add(form)
    mask: dict[Value, set[str]] = {}
    for term in terms(access.mask) if access.mask is not None else ():
        for index, form in _bounded(term):
            mask.setdefault(index, set()).add(form)
    return any(
        address.get(index) in ({_ROWS}, {_COLUMNS})
        and forms in ({_ROWS}, {_COLUMNS})
        and forms != address[index]
        for index, forms in mask.items()
    )


def _oriented(pointer: Value) -> Iterator[tuple[Value, str]]:
    """Index vectors of an address, each with the axis that it is laid along."""
    for value in values_within(pointer, _is_summed):
        if _is_oriented(value):
            for part in additive_parts(value.operands[0]):
                if "arange" in part.operations:
                    yield part, str(value.detail)


def _is_oriented(value: Value) -> bool:
    return value.op == "expand" and value.detail in (_ROWS, _COLUMNS)


def _is_summed(value: Value) -> bool:
    is_plain = value.op in ("cast", "expand") or value.is_binary("Add", "Mult")
    return is_plain and not _is_oriented(value)


def _bounded(term: Value) -> Iterator[tuple[Value, str]]:
    """``x[:, None] < n`` and ``(x < n)[:, None]``: the index and its axis."""
    if term.op == "expand" and term.detail in (_ROWS, _COLUMNS):
        compare = unexpanded(term)
        if compare.op == "compare" and compare.detail in ("Lt", "LtE"):
            yield unexpanded(compare.operands[0]), str(term.detail)
    elif term.op == "compare" and term.detail in ("Lt", "LtE"):
        left, right = term.operands
        is_number = "arange" not in right.operations
        if is_number and left.op == "expand" and left.detail in (_ROWS, _COLUMNS):
            yield unexpanded(left), str(left.detail)
