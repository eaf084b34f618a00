"""What a wrong result looks like, in the words a person would use."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from . import poison

_SHOWN = 6
_MOST = 1 << 24
"""Larger results are told by where they differ alone."""
_ALIKE = 1e-2
_LEAST_TILE = 8
_LEAST_STEPS = 3


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
    return told or _zeros(actual, wrong) or _related(expected, actual, wrong) or where(wrong)


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
    return f"never written: {told}, which hold the poison of fresh memory"


def _nans(expected: torch.Tensor, actual: torch.Tensor) -> str:
    strange = torch.isnan(actual) & ~torch.isnan(expected)
    count = int(strange.sum())
    if count:
        what = "all" if count == actual.numel() else str(count)
        return _with(f"{what} of the values got are NaN where a number was expected", strange)
    missed = int((torch.isnan(expected) & ~torch.isnan(actual)).sum())
    return f"{missed} NaN of the original did not come back" if missed else ""


def _zeros(actual: torch.Tensor, wrong: torch.Tensor) -> str:
    if not bool(actual.bool().any()):
        return "everything got is zero"
    if bool((actual == 0)[wrong].all()):
        return _with("what differs is zero", wrong)
    first = actual.reshape(-1)[0]
    if actual.numel() > 1 and bool((actual == first).all()):
        return f"everything got is {_shown(first)}"
    return ""


def _with(said: str, wrong: torch.Tensor) -> str:
    place = where(wrong)
    return f"{said}, {place}" if place else said


def _related(expected: torch.Tensor, actual: torch.Tensor, wrong: torch.Tensor) -> str:
    """A relation between the two: transposed, moved, scaled, or off by a constant."""
    if expected.numel() > _MOST or expected.numel() < _LEAST_STEPS or expected.is_complex():
        return ""
    one, other = expected.double(), actual.double()
    finite = torch.isfinite(one) & torch.isfinite(other)
    if not bool(finite.all()):
        return ""
    gap = float((one - other).abs().mean())
    moved = next((told for told, turned in _moves(one) if _alike(turned, other, gap)), "")
    if moved:
        return moved
    factor = _factor(one[wrong], other[wrong])
    if factor:
        what = "everything got" if int(wrong.sum()) > 0.9 * wrong.numel() else "what differs"
        return _with(f"{what} is {factor}", wrong)
    return ""


def _moves(one: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The expected values, put elsewhere: (what one would say of it, the result)."""
    if one.dim() >= 2 and one.shape[-1] == one.shape[-2]:
        yield "what was got is the transpose", one.transpose(-1, -2)
    for axis, name in enumerate(_axes(one.dim(), plural=False)):
        size = one.shape[axis]
        if size < _LEAST_STEPS:
            continue
        yield f"everything is one {name} too late", one.roll(1, axis)
        yield f"everything is one {name} too early", one.roll(-1, axis)
        yield f"the {name}s come in the reverse order", one.flip(axis)
        if size % 2 == 0:
            yield f"the two halves of the {name}s are swapped", one.roll(size // 2, axis)
        yield (
            f"every {name} is that of {name} 0",
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
    scale = float((one * other).sum() / (one * one).sum().clamp_min(1e-300))
    spread = _ALIKE * abs(scale) * one.abs() + 1e-3 * abs(scale) * one.abs().mean()
    if abs(scale - 1) > 1e-3 and scale and bool(((one * scale - other).abs() <= spread).all()):
        return f"{scale:.4g} times what was expected"
    offset = float((other - one).mean())
    near = (other - one - offset).abs() <= _ALIKE * abs(offset)
    if offset and bool(near.all()):
        return f"{abs(offset):.4g} {'more' if offset > 0 else 'less'} than was expected"
    return ""


def where(wrong: torch.Tensor) -> str:
    """Which rows and columns differ, if there is an order in it; else nothing."""
    said = []
    tiles: list[int | None] = []
    for axis, name in enumerate(_axes(wrong.dim(), plural=True)):
        others = tuple(other for other in range(wrong.dim()) if other != axis)
        hit = wrong.any(dim=others) if others else wrong
        told, tile = _places(hit, name)
        said += [told] if told else []
        tiles.append(tile)
    if not said:
        return _outside(wrong)
    if len(tiles) == wrong.dim() > 0 and all(tiles):
        size = " x ".join(map(str, tiles))
        return f"all in one block of {size}, {' and '.join(said)}: the share of one program"
    return f"all in {' and '.join(said)}"


def _outside(wrong: torch.Tensor) -> str:
    """The block that alone is right, if there is one."""
    right = ~wrong
    if not wrong.dim() > 1 or not bool(right.any()):
        return ""
    said, size = [], 1
    for axis, name in enumerate(_axes(wrong.dim(), plural=True)):
        others = tuple(other for other in range(wrong.dim()) if other != axis)
        found = right.any(dim=others).nonzero().reshape(-1)
        first, last = int(found[0]), int(found[-1])
        size *= last - first + 1
        said.append(f"{name} {first}..{last}")
    return f"all outside of {' and '.join(said)}" if size == int(right.sum()) else ""


def _axes(dims: int, *, plural: bool) -> tuple[str, ...]:
    end = "s" if plural else ""
    if dims == 1:
        return (f"element{end}",)
    if dims == 2:
        return f"row{end}", f"column{end}"
    return tuple(f"dimension {at}:" if plural else f"step of dimension {at}" for at in range(dims))


def _places(hit: torch.Tensor, name: str) -> tuple[str, int | None]:
    """(which indices of one axis are hit, in words; the tile they are exactly, if any)."""
    found = hit.nonzero().reshape(-1)
    size, count = hit.shape[0], len(found)
    first, last = int(found[0]), int(found[-1])
    if count == size:
        return "", None
    if last - first + 1 == count:
        return _run(name, first, last, size)
    step = int(found[1]) - first
    throughout = first < step and last + step >= size and count >= _LEAST_STEPS
    if throughout and step > 1 and bool((found.diff() == step).all()):
        return f"every {_nth(step)} of the {name.rstrip(':')} (from {first})", None
    return "", None


def _run(name: str, first: int, last: int, size: int) -> tuple[str, int | None]:
    """What there is to say of consecutive indices."""
    length = last - first + 1
    name = name.removesuffix("s") if first == last else name
    span = f"{first}" if first == last else f"{first}..{last}"
    if last == size - 1:
        tile = first & -first
        ragged = tile >= _LEAST_TILE and length < tile
        rest = f" (what is left after whole tiles of {tile})" if ragged else ""
        return f"the last {name} {span}{rest}", length if _is_tile(first, length) else None
    return f"{name} {span}", length if _is_tile(first, length) else None


def _is_tile(first: int, length: int) -> bool:
    return length >= _LEAST_TILE and not length & (length - 1) and first % length == 0


def _nth(step: int) -> str:
    return {2: "second", 3: "third"}.get(step, f"{step}th")
