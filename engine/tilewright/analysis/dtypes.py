"""Element types: the 16-bit floats, what launches say of parameters, and promotion."""

import tilewright.analysis.tiles.types as types
from tilewright.analysis.model import AnalysisContext

WEAK = types.WEAK
HALVES = frozenset({"fp16", "bf16"})


def element_types(context: AnalysisContext, kernel: str) -> dict[str, str]:
    """Types of a kernel's parameters on which all captured launches agree: "fp16", "i32".

    A constexpr is ``WEAK``, as the Python number it is.
    """
    seen: dict[str, set[str]] = {}
    for launch in context.launches:
        if launch.kernel == kernel:
            for argument in launch.arguments:
                is_number = argument.type == "constexpr"
                known = WEAK if is_number else types.of_signature(argument.type)
                seen.setdefault(argument.name, set()).add(known)
    return {name: next(iter(found)) for name, found in seen.items() if len(found) == 1}


def promote(one: str | None, two: str | None) -> str | None:
    """The type of an arithmetic result, as Triton promotes tiles."""
    if one is None or two is None:
        return None
    if one in (WEAK, two):
        return two
    return one if two == WEAK else types.promote(one, two)
