"""Offsets in 32 bits next to others that the same text widens, whatever the sizes are."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.detectors.correctness.masks import unexpanded
from tilewright.analysis.model import Finding, Related
from tilewright.analysis.values import Access, Flow, Value, reached, values_within
from tilewright.analysis.wide_offsets import WIDE_ANNOTATION, widening_kernels
from tilewright.knowledge.model import ADVICE
from tilewright.source.model import Kernel, Module

_WIDE = ("int64", "i64", "uint64")
_CAST_SIZES = 2
"""How many sizes a program id is multiplied by before the cast where that is taken to be safe."""
_PASSED = ("binary", "expand", "unary", "cast")


@dataclass(frozen=True)
class Widened:
    """An access with an offset in 64 bits: the values cast, and the sizes that multiply them.

    ``degree``: how many sizes and program ids are multiplied in the whole address.
    """

    cast: frozenset[Value]
    sizes: frozenset[Value]
    degree: int
    access: Access


def narrow_offsets(module: Module, kernel: Kernel, flow: Flow) -> Iterator[Finding]:
    """The first offset in 32 bits that grows like one which the text widens; advice."""
    has_cast = any(map(_is_wide_cast, flow.values.values()))
    is_wide_elsewhere = not has_cast and bool(widening_kernels(module))
    is_declared = module.lookup.says(WIDE_ANNOTATION) and WIDE_ANNOTATION not in kernel.text
    if not has_cast and not is_wide_elsewhere and not is_declared:
        return
    is_like = is_wide_elsewhere and not has_cast
    names = (frozenset[str](), _siblings(module, kernel)) if is_like else (frozenset[str](),)
    for siblings in names:
        found = next(_narrow(module, kernel, flow, siblings), None)
        if found is not None:
            yield found
            return


def _narrow(
    module: Module, kernel: Kernel, flow: Flow, siblings: frozenset[str]
) -> Iterator[Finding]:
    """The offsets in 32 bits; ``siblings`` are sizes that a kernel like this one has as well."""
    has_cast = any(map(_is_wide_cast, flow.values.values()))
    is_wide_elsewhere = not has_cast and bool(widening_kernels(module))
    is_declared = module.lookup.says(WIDE_ANNOTATION) and WIDE_ANNOTATION not in kernel.text
    lengths = frozenset(v.operands[1] for v in flow.values.values() if v.op == "arange")
    parts = [(a, p) for a in flow.accesses for p in _addends(a.pointer)]
    products = [(a, p) for a, p in parts if p.is_binary("Mult") or _is_wide_cast(p)]
    widened = [w for a, p in products if (w := _widened(a, p, lengths)) is not None]
    free = {p.name for p in kernel.parameters if not p.is_constexpr}
    casts_loaded = any(value.op == "load" for w in widened for value in w.cast)
    for access, product in products:
        if not _is_of_tiles(access):
            continue
        inner, reason = _cast_late(product), "The cast to 64 bits comes after this product"
        related: tuple[Related, ...] = ()
        if inner is None and product.is_binary("Mult") and _is_narrow(product):
            tensors = [w for w in widened if w.degree <= _degree(access.pointer)]
            inner, like = product, _like(product, lengths, tensors, free)
            reason = _reason(product, lengths, like, is_wide_elsewhere, free, siblings)
            if like is not None:
                related = (Related("widened here", module.index.range_of(like.access.node)),)
        if inner is None or not reason:
            inner, reason = product, _declared(product, lengths, is_declared, free)
        # Indices of 64 bits are common; one that the kernel widens says that its own are not.
        if not reason and casts_loaded and _is_loaded_row(product, lengths, free):
            reason = "The kernel widens another loaded index and not the one of this product"
        if inner is not None and reason:
            yield Finding(
                module.index.range_of(stated_node(flow, access, inner)),
                f"{reason}, which is computed in 32 bits: for {access.base} of 2**31 elements or "
                "more it wraps.",
                kernel.name,
                related=related,
                severity=ADVICE,
            )
            return


def _addends(pointer: Value) -> Iterator[Value]:
    """The addends of an address and their factors; a cast to 64 bits stays whole."""
    return values_within(pointer, _is_sum)


def _is_sum(value: Value) -> bool:
    is_shown = value.op in ("expand", "cast") and not _is_wide_cast(value)
    return is_shown or value.is_binary("Add", "Mult")


def _like(
    product: Value, lengths: frozenset[Value], widened: list[Widened], free: set[str]
) -> Widened | None:
    """A widened offset that a product grows like."""
    sizes = _sizes(product, lengths) if widened else frozenset[Value]()
    if not _grows(sizes, free):
        return None
    inside = set(_inside(product))
    for other in widened:
        grows = len(other.sizes) > 1 and other.sizes <= sizes
        if (other.cast & inside and len(sizes) >= len(other.sizes)) or grows:
            return other
    return None


def _grows(sizes: frozenset[Value], free: set[str]) -> bool:
    """Whether sizes reach far; ``free`` are the parameters that are known at run time only.

    One constexpr is a block or less.
    """
    return len(sizes) > 1 or any(str(size.detail) in free for size in sizes)


def _reason(
    product: Value,
    lengths: frozenset[Value],
    like: Widened | None,
    is_wide_elsewhere: bool,
    free: set[str],
    siblings: frozenset[str],
) -> str:
    """Why a product should be as wide as another; empty if nothing says so."""
    if like is not None:
        return "The kernel widens an offset of this kind and not this one"
    if not is_wide_elsewhere:
        return ""
    sizes = _sizes(product, lengths)
    names = {str(size.detail) for size in sizes}
    has_stride = any("stride" in name.lower() for name in names) or bool(names & siblings & free)
    if has_stride and _grows(sizes, free):
        return "Another kernel of this file widens its program id and not this one"
    return ""


def _declared(product: Value, lengths: frozenset[Value], is_declared: bool, free: set[str]) -> str:
    """Why a product of a stride should be wide where other kernels declare theirs so."""
    if not is_declared or not product.is_binary("Mult"):
        return ""
    names = {str(size.detail) for size in _sizes(product, lengths)}
    strides = [name for name in names if "stride" in name.lower() and name in free]
    if not strides:
        return ""
    if not (_is_narrow(product) or _is_loaded_row(product, lengths, free)):
        return ""
    return (
        f"Another kernel of this file declares strides as tl.int64, and this one not {strides[0]}"
    )


def _is_loaded_row(product: Value, lengths: frozenset[Value], free: set[str]) -> bool:
    """``index * stride`` of an index that was loaded, as it is, and a run-time stride."""
    if not product.is_binary("Mult"):
        return False
    for one, two in (product.operands, product.operands[::-1]):
        index, size = unexpanded(one), unexpanded(two)
        is_free = size.op == "param" and str(size.detail) in free and size not in lengths
        if index.op == "load" and is_free and "stride" in str(size.detail).lower():
            return not any(map(_is_wide_cast, _inside(one)))
    return False


def _siblings(module: Module, kernel: Kernel) -> frozenset[str]:
    """The parameters of the kernels of the file that widen their program id, and are like this one.

    Most of this kernel's names must be theirs as well.
    """
    own = {parameter.name for parameter in kernel.parameters}
    like = [names for names in widening_kernels(module) if 2 * len(own & names) > len(own)]
    return frozenset[str]().union(*like)


def _widened(access: Access, product: Value, lengths: frozenset[Value]) -> Widened | None:
    if "cast" not in product.operations:
        return None
    casts = [v for v in _inside(product) if _is_wide_cast(v)]
    if not casts:
        return None
    cast = frozenset(v.operands[0] for v in casts)
    return Widened(cast, _sizes(product, lengths), _degree(access.pointer), access)


def _cast_late(product: Value) -> Value | None:
    """A product of a program id that is cast as a whole: what the cast was to save is lost."""
    for value in _inside(product) if "cast" in product.operations else ():
        inner = value.operands[0] if _is_wide_cast(value) else None
        if inner is not None and inner.is_binary("Mult") and _is_narrow(inner):
            factors = reached(inner, lambda v: v.operands if v.is_binary("Mult", "Add") else ())
            if len([v for v in factors if v.op == "param"]) > _CAST_SIZES:
                return inner
    return None


def _sizes(product: Value, lengths: frozenset[Value]) -> frozenset[Value]:
    """The parameters of a product that are no lengths of blocks."""
    return frozenset(v for v in _inside(product) if v.op == "param" and v not in lengths)


def _degree(address: Value) -> int:
    """How many sizes and program ids the largest addend of an address multiplies.

    A tensor of another degree has another number of axes: where the larger one is at 2**31
    elements, the smaller one is far below.
    """
    if address.is_binary("Add", "Sub"):
        return max(map(_degree, address.operands))
    if address.is_binary("Mult"):
        return sum(map(_degree, address.operands))
    if address.is_binary("FloorDiv"):
        one, other = map(_degree, address.operands)
        return max(0, one - other)
    if address.op in ("expand", "cast", "unary"):
        return _degree(address.operands[0])
    return int(address.op in ("param", "program_id", "load"))


def _inside(value: Value) -> Iterator[Value]:
    return reached(value, lambda v: v.operands if v.op in _PASSED else ())


def _is_narrow(product: Value) -> bool:
    """Whether a product of a program id, not only of a remainder of it, is surely 32 bits wide."""
    if "program_id" not in product.operations:
        return False
    parts = list(_inside(product))
    known = (*_PASSED, "program_id", "const", "param", "arange")
    is_known = all(v.op in known and not _is_wide_cast(v) for v in parts)
    free = reached(product, lambda v: v.operands if _is_free(v) else ())
    return is_known and any(v.op == "program_id" for v in free)


def _is_free(value: Value) -> bool:
    return value.op in _PASSED and not value.is_binary("Mod")


def _is_wide_cast(value: Value) -> bool:
    return value.op == "cast" and str(value.detail) in _WIDE


def _is_of_tiles(access: Access) -> bool:
    return access.base is not None and "arange" in access.pointer.operations


def stated_node(flow: Flow, access: Access, product: Value) -> ast.expr:
    """The product where the access states it itself, or the access."""
    for node in ast.walk(access.node):
        if isinstance(node, ast.BinOp) and flow.values.get(node) is product:
            return node
    return access.node
