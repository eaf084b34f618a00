"""What tile inference knows of a value, in words: a card for a hover, a label for an inlay hint."""

import re
from collections.abc import Iterator

from tilewright.analysis.tiles import (
    Kind,
    Polynomial,
    TileFacts,
    spell_affine,
    spell_polynomial,
    spell_shape,
)

_UNKNOWN_PART = "…"
_WEAK = "weak"
# An offset longer than this explains nothing.
_LONGEST_FORM = 160
_LEGEND = (
    (re.compile(r"\bpid(\d+)\b"), "`pid{0}`: program id of axis {0}"),
    (re.compile(r"\blane(\d+)\b"), "`lane{0}`: index along axis {0}"),
    (re.compile(r"\bturn\b()"), "`turn`: iteration of the loop, from 0"),
)


def tile_card(name: str, facts: TileFacts) -> str | None:
    """Kind, shape, type, offsets and what it differs over; None where nothing is known."""
    head = _head(facts, name)
    if head is None:
        return None
    parts = [_form(facts), _neighbours(facts), _divisibility(facts), _programs(facts)]
    lines = [f"- {part}" for part in parts if part]
    return "\n".join([f"`{name}` · {head}", *([""] if lines else []), *lines])


def inlay_label(facts: TileFacts) -> str | None:
    """``: [BLOCK_M, BLOCK_N] fp32`` for what has a shape, ``*fp16`` for addresses; else None."""
    if not facts.shape or facts.kind is Kind.UNKNOWN:
        return None
    shape = spell_shape(facts.shape)
    if _UNKNOWN_PART in shape:
        return None
    dtype = _dtype(facts)
    if facts.kind in (Kind.BLOCK_POINTER, Kind.DESCRIPTOR):
        return f": {facts.kind} {shape}{f' {dtype}' if dtype else ''}"
    if facts.kind is Kind.POINTER:
        return f": {shape} {f'*{dtype}' if dtype else 'pointer'}"
    return f": {shape} {dtype}" if dtype else f": {shape}"


def _dtype(facts: TileFacts) -> str | None:
    return None if facts.dtype == _WEAK else facts.dtype


def _head(facts: TileFacts, name: str = "") -> str | None:
    """What it is: kind, shape, element type."""
    shape = f" `{spell_shape(facts.shape)}`" if facts.shape else ""
    known = _dtype(facts)
    dtype = f" `{known}`" if known else ""
    match facts.kind:
        case Kind.CONSTEXPR:
            number = facts.constant
            return f"constant `{number.value!r}`" if number else "constant, set when it is compiled"
        case Kind.POINTER:
            what = "tile of pointers" if facts.shape else "pointer"
            base = f", from `{facts.base}`" if facts.base not in (None, name) else ""
            return f"{what}{shape}{_with_word(' to', dtype)}{base}"
        case Kind.BLOCK_POINTER | Kind.DESCRIPTOR:
            return f"{facts.kind}{_with_word(', block', shape)}{_with_word(' of', dtype)}"
        case Kind.DTYPE:
            return _with_word("element type", dtype) or None
        case Kind.TUPLE:
            return _with_word(
                "tuple of ", "; ".join(_head(i) or "unknown" for i in facts.items or ())
            )
        case Kind.UNKNOWN:
            return f"tile{shape}{dtype}" if shape else None
    return f"{facts.kind}{shape}{dtype}"


def _with_word(word: str, text: str) -> str:
    """``text`` behind a word that needs one; nothing without it."""
    return f"{word}{text}" if text else ""


def _form(facts: TileFacts) -> str | None:
    if facts.affine is None or not facts.affine.terms:
        return None
    text = spell_affine(facts.affine)
    if _UNKNOWN_PART in text or len(text) > _LONGEST_FORM:
        return None
    if facts.kind is Kind.POINTER:
        what = f"Elements from `{facts.base}`" if facts.base else "Offset in elements"
    else:
        what = "Value"
    return f"{what}: `{text}`" + "".join(f" · {each}" for each in _legend(text))


def _legend(text: str) -> Iterator[str]:
    for pattern, said in _LEGEND:
        for found in sorted(set(pattern.findall(text))):
            yield said.format(found)


def _neighbours(facts: TileFacts) -> str | None:
    """How far neighbours are apart along each axis."""
    if not facts.shape or facts.strides is None or len(facts.strides) != len(facts.shape):
        return None
    is_pointer = facts.kind is Kind.POINTER
    said = []
    for axis, stride in enumerate(facts.strides):
        if stride is not None and facts.shape[axis] != 1:
            said.append(f"{_apart(stride, is_pointer)} along axis {axis}")
    return f"Neighbours: {', '.join(said)}" if said else None


def _apart(stride: Polynomial, is_pointer: bool) -> str:
    match stride.number:
        case 0:
            return "the same address" if is_pointer else "equal"
        case 1:
            return "contiguous" if is_pointer else "consecutive"
    spelled = spell_polynomial(stride)
    apart = "a distance not known" if _UNKNOWN_PART in spelled else f"`{spelled}`"
    return f"{apart}{' elements' if is_pointer else ''} apart"


def _divisibility(facts: TileFacts) -> str | None:
    if facts.divisibility <= 1 or facts.kind is Kind.CONSTEXPR or _is_zero_based(facts):
        return None
    if facts.kind is Kind.POINTER:
        return f"First address divisible by {facts.divisibility} bytes"
    what = "First value divisible" if facts.shape else "Divisible"
    return f"{what} by {facts.divisibility}"


def _is_zero_based(facts: TileFacts) -> bool:
    """Whether it begins at 0, which everything divides."""
    form = facts.affine
    return (
        form is not None
        and form.constant.number == 0
        and all(term.index.op == "arange" for term in form.terms)
    )


def _programs(facts: TileFacts) -> str | None:
    if facts.programs is None or facts.kind in (Kind.CONSTEXPR, Kind.DTYPE):
        return None
    if not facts.programs:
        return "The same in every program"
    axes = " and ".join(map(str, sorted(facts.programs)))
    return f"Depends on the program id of grid axis {axes}"
