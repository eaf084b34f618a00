"""By which sizes the kernels of a file multiply an index that they have loaded."""

from collections.abc import Hashable, Iterator
from functools import lru_cache

from tilewright.analysis.flow import flow_of, pure_helpers
from tilewright.analysis.per_kernel import Same, kept_by, per_module
from tilewright.analysis.values import Value, reached, values_within
from tilewright.analysis.wide_offsets import WIDE_TYPES
from tilewright.source.model import Kernel, Language, Module

_NONE = frozenset[str]()


def widened_factors(module: Module, kernel: Kernel) -> frozenset[str]:
    """The parameters by which the other kernels of a file multiply a loaded index in 64 bits."""
    found = [names for other, names in _widened_sizes(module) if other != kernel.name]
    return frozenset[str]().union(*found) & {p.name for p in kernel.parameters} if found else _NONE


@per_module
def _widened_sizes(module: Module) -> tuple[tuple[str, frozenset[str]], ...]:
    """The factors of each kernel that has some, by its name."""
    if not module.lookup.says("int64"):
        return ()
    kernels = [k for k in module.kernels if k.language is Language.TRITON and "int64" in k.text]
    named = ((kernel.name, _widened_in(module, kernel)) for kernel in kernels)
    return tuple((name, factors) for name, factors in named if factors)


def _by_text(module: Module, kernel: Kernel) -> Hashable:
    return _filled_lines(kernel.text), Same(module.names), pure_helpers(module)


@lru_cache(maxsize=256)
def _filled_lines(text: str) -> str:
    """A text without its empty lines: sizes and products are on none of them."""
    return "\n".join(line for line in text.split("\n") if line.strip())


@kept_by(_by_text, 256)
def _widened_in(module: Module, kernel: Kernel) -> frozenset[str]:
    found: set[str] = set()
    for access in flow_of(module, kernel).accesses:
        for product in values_within(access.pointer, _is_sum):
            found |= _factor_of_wide(product)
    return frozenset(found)


def _factor_of_wide(product: Value) -> frozenset[str]:
    """The parameter that a product multiplies a widened, loaded index by."""
    if not product.is_binary("Mult") or "load" not in product.operations:
        return frozenset()
    for one, two in (product.operands, product.operands[::-1]):
        size = _unexpanded(one)
        casts = (v for v in reached(two, _summands) if v.op == "cast" and v.detail in WIDE_TYPES)
        if size.op == "param" and any("load" in v.operations for v in casts):
            return frozenset({str(size.detail)})
    return frozenset()


def factors_of_rows(pointer: Value) -> Iterator[tuple[Value, Value, frozenset[str]]]:
    """The products in an address of a loaded index: the product, the index, the parameters.

    Those in which something is 64 bits wide are left out.
    """
    for product in values_within(pointer, _is_sum):
        if not product.is_binary("Mult") or "load" not in product.operations:
            continue
        parts = list(reached(product, _factors_of))
        leaves = [v for v in parts if v.op not in ("expand",) and not v.is_binary("Mult")]
        sizes = frozenset(str(v.detail) for v in leaves if v.op == "param")
        indices = [v for v in leaves if v.uncast.op == "load"]
        is_wide = any(v.op == "cast" and v.detail in WIDE_TYPES for v in leaves)
        known = all(v.op in ("param", "const") or v in indices for v in leaves)
        if len(indices) == 1 and sizes and known and not is_wide:
            yield product, indices[0], sizes


def _factors_of(value: Value) -> tuple[Value, ...]:
    return value.operands if value.op == "expand" or value.is_binary("Mult") else ()


def _summands(value: Value) -> tuple[Value, ...]:
    is_passed = value.op in ("expand", "binary")
    return value.operands if is_passed else ()


def _is_sum(value: Value) -> bool:
    return value.op in ("expand", "cast") or value.is_binary("Add", "Mult")


def _unexpanded(value: Value) -> Value:
    while value.op == "expand":
        value = value.operands[0]
    return value
