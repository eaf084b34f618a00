"""What jobs and answers are made of: the engine's values as JSON."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, final

Plain = int | float | bool | str | None
Options = dict[str, int | float | bool | str]
Details = dict[str, int | float | str]
Depends = dict[str, list[int]]
"""The files that a module brought along, with their mtime_ns and size."""


@final
class Stored(TypedDict):
    """A tensor in a file of raw little-endian bytes; strides and offset are in elements."""

    name: str
    file: str
    dtype: str
    shape: list[int]
    strides: list[int]
    offset: int


@final
class Constant(TypedDict):
    """An input or a result that is no tensor."""

    name: str
    value: Plain


class Argument(TypedDict):
    """``tilewright.targets.model.ArgumentFacts`` as JSON.

    A constexpr that JSON cannot hold is a string: ``triton.dtype:fp16``, ``triton.jit:helper``,
    ``triton.tuple:[1, 2]``.
    """

    name: str
    kind: str
    type: str
    value: Plain
    shape: NotRequired[list[int] | None]
    strides: NotRequired[list[int] | None]
    divisible_by_16: bool


class Launch(TypedDict):
    """``tilewright.targets.model.LaunchFacts`` as JSON."""

    kernel: str
    grid: list[int]
    arguments: list[Argument]
    options: Options


class Entry(TypedDict):
    """``tilewright.problems.model.Entry`` as JSON; without a ``path`` it is in the job's module.

    One of kind ``launch`` makes the case's ``launch`` again, with the plan for its file.
    """

    kind: str
    name: str
    path: NotRequired[str | None]
    preferred: NotRequired[str | None]
    layout: NotRequired[str | None]


class View(TypedDict):
    """``tilewright.problems.model.View`` as JSON."""

    name: str
    input: str
    dtype: str
    offset: int
    shape: list[int]
    strides: list[int]
    block: list[int] | None


class LaunchCase(TypedDict):
    """``tilewright.problems.model.LaunchCase`` as JSON, the part that a worker reads."""

    kernel: str
    views: list[View]


class Plan(TypedDict):
    """``tilewright.captures.relaunch.Plan`` as JSON."""

    kernel: str
    through: bool
    grid: list[int]
    axes: list[str] | None
    values: dict[str, Plain]
    options: Options


class RecordedCall(TypedDict):
    """``tilewright.problems.model.Call`` as JSON."""

    function: str
    arguments: str


class InputFacts(TypedDict, total=False):
    """``tilewright.problems.model.Facts`` as JSON."""

    align: int
    contiguous: bool
    finite: bool
    nonnegative: bool
    sorted: bool
    unique: bool


class Input(TypedDict):
    """``tilewright.problems.model.Input`` as JSON."""

    name: str
    shape: list[int]
    dtype: str
    low: int | float | None
    high: int | float | None
    transforms: list[str]
    value: Plain
    values: list[int]
    ascending: bool
    mean: float
    std: float | None
    strides: list[int] | None
    facts: InputFacts


class Case(TypedDict):
    """``tilewright.problems.model.Case`` as JSON, the part that a worker reads."""

    category: str
    index: int
    dims: dict[str, Any]
    dtype: str | None
    inputs: list[Input]
    init_args: list[Any]
    init_named: dict[str, Any]
    inputs_from_module: bool
    rtol: float
    atol: float
    memory_format: str | None
    launch: LaunchCase | None
    call: RecordedCall | None


class SentFile(TypedDict, total=False):
    """A file or a link that goes to another host (``remote.file_sync``)."""

    path: str
    size: int
    mtime_ns: int
    link: str


class Confinement(TypedDict):
    """How far a job's process was confined (``sandbox.isolation.report``)."""

    landlock: int
    netns: bool
    isolation: NotRequired[str]
    lacks: NotRequired[dict[str, str]]
    reasons: NotRequired[list[str]]


Entries = list[Stored | Constant]
"""A manifest of inputs or results."""
