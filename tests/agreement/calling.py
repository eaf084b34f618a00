"""A kernel that does nothing but call a jit function with tiles, for functions that return values.

Such a function (the scalar function of an elementwise operator, a combine function of a scan) is
no kernel by itself: what it computes with is decided by who calls it.
"""

import linecache
from typing import Any

import triton
import triton.language as tl
from specializing import CONSTEXPR, Argument, Specialization

EXTENT = 64


def called_with_tiles(function: Any, given: Specialization) -> tuple[Any, Specialization]:
    """(a kernel that calls ``function``, its specialization).

    Pointers and constants are handed on; what would be a scalar becomes a tile of that type.
    """
    constants = {
        f"GIVEN_{a.name}": tl.constexpr(a.constant) for a in given.arguments if a.type == CONSTEXPR
    }
    text = _text(given)
    file = f"<caller of {function.fn.__module__}.{function.fn.__name__} {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {"triton": triton, "tl": tl, "CALLED": function, "__name__": file, **constants}
    exec(compile(text, file, "exec"), scope)
    arguments = [
        Argument(a.name, a.type if a.type.startswith("*") else f"*{a.type}")
        for a in given.arguments
        if a.type != CONSTEXPR
    ]
    return scope["caller"], Specialization(tuple(arguments))


def _text(given: Specialization) -> str:
    handed = []
    for argument in given.arguments:
        if argument.type == CONSTEXPR:
            handed.append(f"GIVEN_{argument.name}")
        elif argument.type.startswith("*"):
            handed.append(argument.name)
        else:
            handed.append(f"tl.load({argument.name} + places)")
    names = ", ".join(a.name for a in given.arguments if a.type != CONSTEXPR)
    return (
        "@triton.jit\n"
        f"def caller({names}):\n"
        f"    places = tl.arange(0, {EXTENT})\n"
        f"    CALLED({', '.join(handed)})\n"
    )
