"""Shapes: broadcasting, and numbers as the extents they are."""

from collections.abc import Iterable

from tilewright.analysis.tiles.model import Dim, Shape


def broadcast(shapes: Iterable[Shape | None]) -> Shape | None:
    """The shape of an elementwise result; None where an extent cannot be derived."""
    result: Shape = ()
    for shape in shapes:
        merged = None if shape is None else _broadcast(result, shape)
        if merged is None:
            return None
        result = merged
    return result


def _broadcast(one: Shape, two: Shape) -> Shape | None:
    if one == two or not two:
        return one
    if not one:
        return two
    width = max(len(one), len(two))
    left = (1,) * (width - len(one)) + one
    right = (1,) * (width - len(two)) + two
    merged: list[Dim] = []
    for a, b in zip(left, right, strict=True):
        extent = _merged(a, b)
        if extent is None:
            return None
        merged.append(extent)
    return tuple(merged)


def _merged(one: Dim, two: Dim) -> Dim | None:
    """One of them is 1 or they are equal, or the kernel would not compile."""
    if one == two or two == 1:
        return one
    if one == 1:
        return two
    if isinstance(one, int) and isinstance(two, int):
        return None
    if isinstance(one, int):
        return one
    return two if isinstance(two, int) else None


def without_axis(shape: Shape, axis: int) -> Shape | None:
    """The shape without one axis, which may be counted from the end."""
    if not -len(shape) <= axis < len(shape):
        return None
    place = axis % len(shape)
    return shape[:place] + shape[place + 1 :]


def single_axis(shape: Shape | None) -> int | None:
    """The one axis along which a tile has more than one element; None if not just one."""
    if shape is None:
        return None
    long = [axis for axis, extent in enumerate(shape) if extent != 1]
    return long[0] if len(long) == 1 else None
