"""Where a result is wrong, in words: rows, columns, every k-th of them, a block, a triangle."""

from __future__ import annotations

from dataclasses import dataclass

import torch

_LEAST_TILE = 8
_LEAST_STEPS = 3
_MOSTLY = 0.9
"""Of a triangle: values may be right by chance."""


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
