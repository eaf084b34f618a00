"""Rows that a loaded index selects, and bounds of elements, in 32 bits where the file shows that
64 are needed."""

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.correctness.element_types import holds_int32
from tilewright.analysis.detectors.correctness.masks import additive_parts, upper_bounds
from tilewright.analysis.detectors.correctness.narrow_offsets import stated_node
from tilewright.analysis.model import Finding
from tilewright.analysis.row_factors import factors_of_rows, widened_factors
from tilewright.analysis.values import Access, Flow, Value, reached, walk
from tilewright.analysis.wide_offsets import WIDE_TYPES, widening_kernels
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Module

_NARROW_TYPES = ("int32", "i32")


@dataclass(frozen=True)
class _Row:
    """A loaded index times sizes, in the address of an access."""

    access: Access
    product: Value
    index: Value
    factors: frozenset[str]

    @property
    def loaded(self) -> Value:
        return self.index.uncast


def narrow_rows(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """The first row whose offset is computed in 32 bits although the file says it is too long."""
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    others = widened_factors(module, kernel)
    is_wide = any(_is_wide(value) for access in flow.accesses for value in walk(access.pointer))
    if not (is_wide or others or "int32" in kernel.text):
        return
    for row in _narrow_rows(flow):
        reason = _reason(module, kernel, flow, row, others, is_wide, free)
        if reason:
            yield Finding(
                module.index.range_of(stated_node(flow, row.access, row.product)),
                f"{reason}, and this product is computed in 32 bits: for {row.access.base} of "
                "2**31 elements or more it wraps.",
                kernel.name,
                severity=ADVICE,
            )
            return


def narrow_bounds(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """A count of elements that is computed in 32 bits, below which a wide offset has to be."""
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    for access in flow.accesses:
        if access.mask is None or access.base is None:
            continue
        for index, bound in upper_bounds(access.mask):
            sizes = _counted(bound)
            if len(sizes & free) > 1 and _is_whole_offset(access, index):
                yield Finding(
                    module.index.range_of(access.node),
                    f"The offset into {access.base} is 64 bits wide, and its bound is the product "
                    f"of {' and '.join(sorted(sizes & free))} in 32 bits: for {access.base} of "
                    "2**31 elements or more the bound wraps.",
                    kernel.name,
                    severity=ADVICE,
                )
                return


def _counted(bound: Value) -> frozenset[str]:
    """The parameters of a bound that is their product, none of them cast; else nothing."""
    parts = list(reached(bound, lambda v: v.operands if v.is_binary("Mult") else ()))
    leaves = [v for v in parts if not v.is_binary("Mult")]
    if not bound.is_binary("Mult") or any(v.op not in ("param", "const") for v in leaves):
        return frozenset()
    return frozenset(str(v.detail) for v in leaves if v.op == "param")


def _is_whole_offset(access: Access, index: Value) -> bool:
    """Whether an index is all that an address adds to its tensor, and 64 bits wide."""
    pointer = access.pointer
    if not pointer.is_binary("Add") or not any(map(_is_wide, walk(index))):
        return False
    return any(v.op == "param" for v in pointer.operands) and index in pointer.operands


def _narrow_rows(flow: Flow) -> Iterator[_Row]:
    for access in flow.accesses:
        if access.base is None or "load" not in access.pointer.operations:
            continue
        for product, index, sizes in factors_of_rows(access.pointer):
            yield _Row(access, product, index, sizes)


def _reason(
    module: Module,
    kernel: Kernel,
    flow: Flow,
    row: _Row,
    others: frozenset[str],
    is_wide: bool,
    free: set[str],
) -> str:
    """Why a row's offset should be wide; empty if nothing says so."""
    strides = {name for name in row.factors if "stride" in name.lower()}
    shared = sorted(strides & others)
    if shared:
        return f"Another kernel of this file widens the index that it multiplies by {shared[0]}"
    is_cut = row.index.op == "cast" and row.index.detail in _NARROW_TYPES
    if is_cut and (is_wide or widening_kernels(module)) and _is_outermost(row, free):
        return "This loaded index is cast to 32 bits before it is multiplied"
    table = _table_of(flow, row.loaded)
    if is_wide and strides & free and table and holds_int32(module, kernel, table):
        return f"The kernel widens other offsets, {table} holds 32-bit numbers"
    return ""


def _is_outermost(row: _Row, free: set[str]) -> bool:
    """Whether no other index of the address is multiplied by a size known at run time only."""
    products = (v for v in additive_parts(row.access.pointer) if v.is_binary("Mult"))
    others = (v for v in products if row.index not in walk(v))
    names = (str(p.detail) for v in others for p in walk(v) if p.op == "param")
    return free.isdisjoint(names)


def _table_of(flow: Flow, loaded: Value) -> str | None:
    """The parameter that a loaded value is from."""
    return next((a.base for a in flow.loads if a.result is loaded), None)


def _is_wide(value: Value) -> bool:
    return value.op == "cast" and value.detail in WIDE_TYPES
