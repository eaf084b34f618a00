"""A captured launch as a case: inputs like those it had, and where its arguments lie in them."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.captures.model import CapturedLaunch, Contents, Placement
from tilewright.problems.dtypes import DTYPE_BYTES, is_floating
from tilewright.problems.model import Case, Input, LaunchCase, View
from tilewright.targets.model import ArgumentFacts

_DTYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d, ]+)\]>")
_TOLERANCES = {"float64": (1e-6, 1e-8), "float32": (1e-3, 1e-4)}
_ROUGH = (2e-2, 2e-2)
# A storage that is many times larger than what a kernel gets of it is not made as a whole.
_MOST_SURPLUS = 4
_SMALL_BYTES = 1 << 22
# No value of a tensor that a kernel computes with, but what a table of pointers holds.
_LEAST_ADDRESS = 1 << 36
_MOST_PLACED = 4096


class NotReplayable(Exception):  # noqa: N818 - no error: a launch that stays what it is, a record
    """Why a launch cannot be made again from its record."""


@dataclass(frozen=True)
class _Given:
    """A tensor argument: its facts, where it lay, what it held."""

    view: View
    place: Placement
    contents: Contents | None

    @property
    def end(self) -> int:
        """The element behind its last, in its storage."""
        dims = zip(self.view.shape, self.view.strides, strict=True)
        reach = 0 if 0 in self.view.shape else 1 + sum((n - 1) * s for n, s in dims)
        return self.view.offset + reach


def case_of(launch: CapturedLaunch, index: int) -> Case:
    """The case of one launch.

    Raises:
        NotReplayable: what was recorded does not suffice, in words.
    """
    facts = launch.facts
    if 0 in facts.grid:
        raise NotReplayable("its grid has no program")
    given = list(_tensors(launch))
    _apart(launch)
    inputs: list[Input] = []
    views: list[View] = []
    for number in dict.fromkeys(one.place.storage for one in given):
        made, its_views = _storage([one for one in given if one.place.storage == number])
        inputs.append(made)
        views += its_views
    call = LaunchCase(
        kernel=facts.kernel,
        grid=facts.grid,
        views=tuple(views),
        values={a.name: _value(a) for a in facts.arguments if a.kind != "tensor"},
        options=facts.options,
        site=launch.site.function if launch.site else None,
        grid_reads=launch.grid_reads,
    )
    rtol, atol = _tolerance([view.dtype for view in views])
    dims = {name: value for name, value in call.values.items() if isinstance(value, int)}
    return Case(
        f"captured:{facts.kernel}", index, dims, None, tuple(inputs), rtol=rtol, atol=atol,
        launch=call,
    )  # fmt: skip


def _tensors(launch: CapturedLaunch) -> Iterator[_Given]:
    places = {place.name: place for place in launch.tensors}
    for argument in launch.facts.arguments:
        if argument.kind != "tensor":
            continue
        place = places.get(argument.name)
        if place is None or place.storage_bytes is None:
            raise NotReplayable(
                "an older Tilewright captured it, without the sizes of storages; capture again"
            )
        contents = launch.contents.get(argument.name)
        written = launch.written is not None and argument.name in launch.written.names
        yield _Given(
            _view(argument, place), place, None if _is_noise(contents, written) else contents
        )


def _is_noise(contents: Contents | None, written: bool) -> bool:
    """What lay in memory that was never written before, told by numbers nobody computes with."""
    return contents is not None and written and not abs(contents.low) + abs(contents.high) < 1e9


def _view(argument: ArgumentFacts, place: Placement) -> View:
    described = _DESCRIPTOR.fullmatch(argument.type)
    short = described[1] if described else argument.type.removeprefix("*k").removeprefix("*")
    dtype = _DTYPES.get(short)
    if dtype is None or argument.shape is None or argument.strides is None:
        raise NotReplayable(f"{argument.name} is a {argument.type}, which cannot be made again")
    block = tuple(map(int, described[2].split(","))) if described else None
    shape, strides = argument.shape, argument.strides
    return View(argument.name, "", dtype, place.offset, shape, strides, block)


def _apart(launch: CapturedLaunch) -> None:
    """Memory that two storages share cannot be made again."""
    storages = {place.name: place.storage for place in launch.tensors}
    for one, other in launch.overlaps:
        if storages[one] != storages[other]:
            raise NotReplayable(f"{one} and {other} overlap, and are not views of one storage")


def _storage(given: list[_Given]) -> tuple[Input, list[View]]:
    """What the arguments of one storage lie in, and where."""
    name = "+".join(one.view.name for one in given)
    dtypes = {one.view.dtype for one in given}
    if len(dtypes) > 1:
        raise NotReplayable(f"{name} share memory as {' and '.join(sorted(dtypes))}")
    (dtype,) = dtypes
    size = DTYPE_BYTES[dtype]
    whole = (given[0].place.storage_bytes or 0) // size
    first = min(one.view.offset for one in given)
    end = max(one.end for one in given)
    begin = first - first % 16
    if max(whole, end) * size > max(_SMALL_BYTES, _MOST_SURPLUS * (end - begin) * size):
        whole = end
    else:
        begin, whole = 0, max(whole, end)
    moved = [replace(one.view, input=name, offset=one.view.offset - begin) for one in given]
    made = _input(name, dtype, whole - begin, given, begin)
    (alone, *more) = moved
    if not more and alone.offset == 0 and _is_dense(alone, whole - begin):
        made = replace(made, shape=alone.shape)
    return made, moved


def _is_dense(view: View, elements: int) -> bool:
    step = 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return math.prod(view.shape) == elements


def _input(name: str, dtype: str, elements: int, given: list[_Given], begin: int) -> Input:
    held = [one.contents for one in given if one.contents is not None]
    if not held or dtype == "complex64":
        return Input(name, (elements,), dtype)
    low, high = min(one.low for one in held), max(one.high for one in held)
    if is_floating(dtype):
        return _floats(name, dtype, elements, held, low, high)
    if DTYPE_BYTES[dtype] == 8 and low >= _LEAST_ADDRESS:
        raise NotReplayable(f"{name} holds what look like addresses of memory")
    values = _placed(given, elements, begin)
    ascending = len(held) == 1 and held[0].ascending
    return Input(
        name, (elements,), dtype, int(low), int(high) + 1, values=values, ascending=ascending
    )


def _floats(
    name: str, dtype: str, elements: int, held: list[Contents], low: float, high: float
) -> Input:
    told = held[0]
    if told.mean is None or told.std is None or not math.isfinite(told.mean + told.std):
        return Input(name, (elements,), dtype)
    return Input(name, (elements,), dtype, low, high, mean=told.mean, std=told.std)


def _placed(given: list[_Given], elements: int, begin: int) -> tuple[int, ...]:
    """The recorded integers where they lay; none where not all were recorded."""
    known = [(one, one.contents.values) for one in given if one.contents is not None]
    if elements > _MOST_PLACED or any(values is None for _, values in known):
        return ()
    filler = min((min(values) for _, values in known if values), default=0)
    made = [filler] * elements
    for one, values in known:
        for at, value in zip(_positions(one.view), values or (), strict=True):
            made[at - begin] = value
    return tuple(made)


def _positions(view: View) -> list[int]:
    """Where the elements of a view lie, in the order that a copy of it would have."""
    found = [view.offset]
    for extent, stride in zip(view.shape, view.strides, strict=True):
        found = [at + step * stride for at in found for step in range(extent)]
    return found


def _value(argument: ArgumentFacts) -> int | float | bool | str | None:
    value = argument.value
    if isinstance(value, str) and "triton.unknown:" in value:
        raise NotReplayable(f"{argument.name} is no value that a record can hold ({value})")
    return value


def _tolerance(dtypes: list[str]) -> tuple[float, float]:
    """Of the coarsest element type: the original's own result is what a candidate is held to."""
    found = [_TOLERANCES.get(dtype, _ROUGH) for dtype in dtypes if is_floating(dtype)]
    return max(found, default=(0.0, 0.0))


def programs(case: Case) -> int:
    """How many programs a case's launch has."""
    return math.prod(case.launch.grid) if case.launch else 0
