"""Which pointer parameter an address goes through."""

from tilewright.analysis.values import Value

_ADDRESS_CALLS = ("triton.language.multiple_of", "triton.language.max_contiguous")


def pointer_base(pointer: Value) -> str | None:
    """The parameter that an address adds offsets to; None if more than one may be it.

    Follows sums, loop-carried pointers and casts. A sum of several bare parameters, or of a
    parameter and a loaded address, is given by the parameter's name: ``x_ptr + offset``. What is
    loaded is a number, unless a cast makes an address of it.
    """
    leaves, is_sure = _leaves(pointer)
    if len(leaves) == 1 and is_sure:
        return next(iter(leaves))
    named = {leaf for leaf in leaves if _looks_like_pointer(leaf)}
    return next(iter(named)) if len(named) == 1 else None


def _looks_like_pointer(name: str) -> bool:
    lowered = name.lower()
    return lowered.endswith(("ptr", "ptrs", "pointer")) or lowered.startswith("ptr_")


def _leaves(pointer: Value) -> tuple[set[str], bool]:
    """Bare parameters of a sum, and whether no other operand can be the pointer."""
    found: set[str] = set()
    is_sure = True
    pending = [pointer]
    seen: set[int] = set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op == "param":
            found.add(str(value.detail))
        elif value.op == "opaque" or _is_address(value):
            is_sure = False
        else:
            pending.extend(_addends(value))
    return found, is_sure


def _is_address(value: Value) -> bool:
    """Whether a cast may make a pointer of a loaded number: its type is computed, or one."""
    if value.op != "cast" or (len(value.operands) < 2 and "pointer" not in str(value.detail)):
        return False
    return "load" in value.operands[0].operations


def _addends(value: Value) -> tuple[Value, ...]:
    if value.is_binary("Add", "Sub") or value.op in ("phi", "after"):
        return value.operands
    if value.op in ("cast", "expand") or value.is_call(*_ADDRESS_CALLS):
        return value.operands[:1]
    return value.operands[1:] if value.op == "select" else ()
