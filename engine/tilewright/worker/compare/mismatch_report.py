"""What a wrong result looks like, in the words a person would use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..memcheck import poison

_SHOWN = 6
_MOST = 1 << 24
"""Larger results are described only by where they differ."""
_ALIKE = 1e-2
_LEAST_TILE = 8
_LEAST_STEPS = 3
_NEARLY_ALL = 0.9
_CLEAR = 0.05
"""Of the values' size: smaller errors are no factors, but roundings."""
_MOSTLY = 0.9
"""Of a triangle: values may be right by chance."""


def describe(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    """One sentence: how many differ, where first, and what the difference looks like."""
    count, total = int(wrong.sum()), wrong.numel()
    at = _first(wrong)
    shown = f"expected {_shown(expected[at])}, got {_shown(actual[at])}"
    place = f"at {at}" if len(at) != 1 else f"at {at[0]}"
    said = f"{count} of {total} elements differ, first {place}: {shown}"
    pattern = _pattern(expected, actual, wrong)
    return f"{said}; {pattern}" if pattern else said


def _first(wrong: torch.Tensor) -> tuple[int, ...]:
    if not wrong.dim():
        return ()
    flat = int(wrong.reshape(-1).to(torch.uint8).argmax())
    found = []
    for size in reversed(wrong.shape):
        found.append(flat % size)
        flat //= size
    return tuple(reversed(found))


def _shown(value: torch.Tensor) -> str:
    number = value.item()
    return f"{number:.{_SHOWN}g}" if isinstance(number, float) else str(number)


def _pattern(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    told = _unwritten(actual, wrong)
    if not told and (actual.is_floating_point() or actual.is_complex()):
        told = _nans(expected, actual)
    told = told or _zeros(expected, actual, wrong) or _related(expected, actual, wrong)
    return told or _with_places("", wrong, expected)


def _unwritten(actual: torch.Tensor, wrong: torch.Tensor) -> str:
    written = poison.written(actual)
    if written is None:
        return ""
    never = ~written & wrong
    if not bool(never.any()):
        return ""
    if int(never.sum()) == never.numel():
        return "nothing was ever written there: all of it is the poison of fresh memory"
    told = where(never) or f"{int(never.sum())} elements"
    told = told.removeprefix("all in ")
    return f"never written: {told} (the poison of fresh memory is still there)"


def _nans(expected: torch.Tensor, actual: torch.Tensor) -> str:
    strange = torch.isnan(actual) & ~torch.isnan(expected)
    count = int(strange.sum())
    if count:
        what = "all" if count == actual.numel() else str(count)
        return _with_places(
            f"{what} of the values got are NaN where a number was expected", strange
        )
    missed = int((torch.isnan(expected) & ~torch.isnan(actual)).sum())
    return f"{missed} NaN of the original did not come back" if missed else ""


def _zeros(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    if not bool(actual.bool().any()):
        return "everything got is zero"
    if bool((actual == 0)[wrong].all()):
        return _with_places("what differs is zero", wrong, expected)
    first = actual.reshape(-1)[0]
    if actual.numel() > 1 and bool((actual == first).all()):
        return f"everything got is {_shown(first)}"
    return ""


def _with_places(said: str, wrong: torch.Tensor, expected: torch.Tensor | None = None) -> str:
    """What is said, and where; or of which sign what was ``expected`` there is."""
    if expected is not None and int(wrong.sum()) == 1:  # the first, which is named
        return said
    place = where(wrong) or ("" if expected is None else _of_one_sign(expected, wrong))
    return ", ".join(part for part in (said, place) if part)


def _related(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    """A relation between the two: transposed, moved, scaled, or off by a constant."""
    if expected.numel() > _MOST or expected.numel() < _LEAST_STEPS or expected.is_complex():
        return ""
    if expected.dtype == torch.bool:
        return "everything got is the opposite" if bool(wrong.all()) else ""
    one, other = expected.double(), actual.double()
    finite = torch.isfinite(one) & torch.isfinite(other)
    if not bool(finite.all()):
        return ""
    gap = float((one - other).abs().mean())
    moved = next((told for told, turned in _moves(one) if _alike(turned, other, gap)), "")
    if moved:
        return moved
    factor = _factor(one[wrong], other[wrong])
    if factor and int(wrong.sum()) > _NEARLY_ALL * wrong.numel():
        return f"everything got {factor}"
    if factor:
        return _with_places(f"what differs {factor}", wrong, expected)
    by_line = int(wrong.sum()) > wrong.numel() // 2 and expected.dtype.itemsize > 1
    return _by_line(one, other) if by_line else ""


def _moves(one: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The expected values, put elsewhere: (what one would say of it, the result)."""
    if one.dim() >= 2 and one.shape[-1] == one.shape[-2]:
        yield "the result is the transpose", one.transpose(-1, -2)
    for axis, called in enumerate(axes(one.dim())):
        size, name, many = one.shape[axis], called.one, called.many
        if size < _LEAST_STEPS:
            continue
        yield f"everything is one {name}{called.of} too late", one.roll(1, axis)
        yield f"everything is one {name}{called.of} too early", one.roll(-1, axis)
        yield f"the {many}{called.of} come in the reverse order", one.flip(axis)
        if size % 2 == 0:
            yield (
                f"the two halves of the {many}{called.of} are swapped",
                one.roll(size // 2, axis),
            )
        yield (
            f"every {name}{called.of} is that of {name} 0",
            one.narrow(axis, 0, 1).expand_as(one),
        )


def _alike(one: torch.Tensor, other: torch.Tensor, gap: float) -> bool:
    """Nearly everywhere the same, where before the move they were ``gap`` apart on average: a
    move leaves no more than an edge that differs."""
    distance = (one - other).abs()
    size = float(one.abs().mean())
    edge = one.numel() / max(min(one.shape), 1)
    far = int((distance > _ALIKE * (size + one.abs())).sum())
    return far <= min(edge, 0.34 * one.numel()) and float(distance.mean()) < 0.34 * gap


def _factor(one: torch.Tensor, other: torch.Tensor) -> str:
    """The factor or the offset between two sets of numbers, if there is one."""
    if one.numel() < _LEAST_STEPS:
        return ""
    scale = float((one * other).sum() / (one * one).sum().clamp_min(1e-300))
    spread = _ALIKE * abs(scale) * one.abs() + 1e-3 * abs(scale) * one.abs().mean()
    if abs(scale - 1) > 1e-3 and scale and bool(((one * scale - other).abs() <= spread).all()):
        opposite = abs(scale + 1) < _ALIKE
        return "has the opposite sign" if opposite else f"is {scale:.4g} times what was expected"
    offset = float((other - one).mean())
    near = (other - one - offset).abs() <= _ALIKE * abs(offset)
    if offset and bool(near.all()):
        return f"is {abs(offset):.4g} {'more' if offset > 0 else 'less'} than was expected"
    return ""


def _by_line(one: torch.Tensor, other: torch.Tensor) -> str:
    """That each row, or each column, is off by an amount or a factor of its own: a bias or a weight
    is missing, or another's."""
    gap = other - one
    far = float(gap.abs().mean())
    if one.dim() < 2 or far < _CLEAR * float(one.abs().mean()):
        return ""
    spread = _ALIKE * (far + other.abs())
    for axis, called in enumerate(axes(one.dim())):
        others = tuple(at for at in range(one.dim()) if at != axis)
        if one.numel() < _LEAST_STEPS * one.shape[axis]:
            continue
        factor = (one * other).sum(others, True) / (one * one).sum(others, True).clamp_min(1e-300)
        for what, fit in (("an amount", one + gap.mean(others, True)), ("a factor", one * factor)):
            if bool(((fit - other).abs() <= spread).all()):
                return f"each {called.one}{called.of} is off by {what} of its own"
    return ""


def _of_one_sign(expected: torch.Tensor, wrong: torch.Tensor) -> str:
    """That what differs are the negative, or the positive, of the expected values."""
    if expected.dtype == torch.bool or expected.is_complex():
        return ""
    values = expected.double()
    for said, side in (("negative", values < 0), ("positive", values > 0)):
        count = int(side.sum())
        few = count < _LEAST_TILE or int(wrong.sum()) < _NEARLY_ALL * count
        if not few and count < _NEARLY_ALL * wrong.numel() and not bool((wrong & ~side).any()):
            return f"all where a {said} number was expected"
    return ""


@dataclass(frozen=True)
class Axis:
    """What the indices of one dimension are called: ``row``, ``rows``, or with ``of`` behind it."""

    one: str
    many: str
    of: str = ""


def axes(dims: int) -> tuple[Axis, ...]:
    """The axes of a tensor with so many dimensions."""
    if dims == 1:
        return (Axis("element", "elements"),)
    if dims == 2:
        return Axis("row", "rows"), Axis("column", "columns")
    return tuple(Axis("index", "indices", f" of dimension {at}") for at in range(dims))


def where(wrong: torch.Tensor) -> str:
    """Which rows and columns differ, if there is an order in it; else nothing."""
    triangle = _triangle(wrong)
    if triangle:
        return f"all {triangle}"
    said = []
    tiles: list[int | None] = []
    for at, axis in enumerate(axes(wrong.dim())):
        others = tuple(other for other in range(wrong.dim()) if other != at)
        hit = wrong.any(dim=others) if others else wrong
        told, tile = _places(hit, axis)
        said += [told] if told else []
        tiles.append(tile)
    if not said:
        return _outside(wrong)
    if len(tiles) == wrong.dim() > 0 and all(tiles):
        size = " x ".join(map(str, tiles))
        return f"all in one block of {size}, {' and '.join(said)}: the share of one program"
    return f"all in {' and '.join(said)}"


def _triangle(wrong: torch.Tensor) -> str:
    """On which side of the diagonal of a matrix all lies, where nearly all of that side differs."""
    if wrong.dim() != 2 or min(wrong.shape) < _LEAST_TILE:
        return ""
    rows, columns = (torch.arange(size, device=wrong.device) for size in wrong.shape)
    off = columns - rows[:, None]
    sides = {
        "on the diagonal": off == 0,
        "above the diagonal": off > 0,
        "below the diagonal": off < 0,
        "on and above the diagonal": off >= 0,
        "on and below the diagonal": off <= 0,
    }
    count = int(wrong.sum())
    for said, side in sides.items():
        if count >= _MOSTLY * int(side.sum()) and not bool((wrong & ~side).any()):
            return said
    return ""


def _outside(wrong: torch.Tensor) -> str:
    """The block that alone is right, if there is one that is more than an element by chance."""
    right = ~wrong
    if not wrong.dim() > 1 or int(right.sum()) < _LEAST_STEPS:
        return ""
    said, size = [], 1
    for at, axis in enumerate(axes(wrong.dim())):
        others = tuple(other for other in range(wrong.dim()) if other != at)
        found = right.any(dim=others).nonzero().reshape(-1)
        first, last = int(found[0]), int(found[-1])
        size *= last - first + 1
        said.append(_span(axis, first, last))
    return f"all outside of {' and '.join(said)}" if size == int(right.sum()) else ""


def _span(axis: Axis, first: int, last: int) -> str:
    if first == last:
        return f"{axis.one} {first}{axis.of}"
    return f"{axis.many} {first}..{last}{axis.of}"


def _places(hit: torch.Tensor, axis: Axis) -> tuple[str, int | None]:
    """(which indices of one axis are hit, in words; the tile they are exactly, if any)."""
    found = hit.nonzero().reshape(-1)
    size, count = hit.shape[0], len(found)
    first, last = int(found[0]), int(found[-1])
    if count == size:
        return "", None
    if last - first + 1 == count:
        return _run(axis, first, last, size)
    return _regular(hit, axis), None


def _regular(hit: torch.Tensor, axis: Axis) -> str:
    """Runs of one length at one distance from each other, all along an axis."""
    before = torch.cat([hit.new_zeros(1), hit[:-1]])
    starts = (hit & ~before).nonzero().reshape(-1)
    first, step = int(starts[0]), int(starts[1] - starts[0])
    length = int((~hit[first:]).to(torch.uint8).argmax())
    at = torch.arange(hit.shape[0], device=hit.device)
    periodic = bool((hit == ((at - first) % step < length)).all()) and first + length <= step
    if not periodic or len(starts) < (2 if length >= _LEAST_TILE else _LEAST_STEPS):
        return ""
    if length == 1:
        return f"every {_nth(step)} of the {axis.many}{axis.of} (from {first})"
    span = f"{first}..{first + length - 1}"
    return f"{length} of every {step} {axis.many}{axis.of} ({span} and so on)"


def _run(axis: Axis, first: int, last: int, size: int) -> tuple[str, int | None]:
    """What there is to say of consecutive indices."""
    length, said = last - first + 1, _span(axis, first, last)
    exact = length if _is_tile(first, length) else None
    if last != size - 1:
        return said, exact
    tile = first & -first
    ragged = tile >= _LEAST_TILE and length < tile
    rest = f" (what is left after whole tiles of {tile})" if ragged else ""
    return f"the last {said}{rest}", exact


def _is_tile(first: int, length: int) -> bool:
    return length >= _LEAST_TILE and not length & (length - 1) and first % length == 0


def _nth(step: int) -> str:
    return {2: "second", 3: "third"}.get(step, f"{step}th")
