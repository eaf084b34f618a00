"""Calls of a file's functions on inputs drafted from its text, and what came of them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from .envelope import Job
from .parts import Plain

Cost = Literal["launches", "waits", "traffic", "work", "serial", "contention"]
COSTS: tuple[Cost, ...] = ("launches", "waits", "traffic", "work", "serial", "contention")
"""What is counted of a call; ``drafted.costs`` has the units."""


class DraftedArgument(TypedDict, total=False):
    """A tensor where it has a ``shape``, a torch dtype where it has only a ``dtype``, else a
    ``value``.

    ``contents`` of a tensor is a family of ``drafted.contents``; ``exchanged`` two axes that lie
    in memory in the other order; ``strides`` of a written tensor that is not contiguous.
    """

    shape: list[int]
    dtype: str
    contents: str
    exchanged: list[int]
    strides: list[int]
    value: Plain


class Variation(TypedDict, total=False):
    """What a call is made with instead of the usual: see ``drafted.variations``; ``tiles`` is a
    size that the function states and the one in its place, ``config`` a configuration's number."""

    lanes: bool
    doubled: bool
    tiles: list[int]
    config: int


class Reference(TypedDict, total=False):
    """What a call's result is compared with: an ``operator`` of torch with its ``roles`` (role:
    name of the argument), or a ``function`` of the file with the same arguments. With a ``number``
    the call and its reference are those of that number in the job's module of them; with
    ``gradient`` the gradients of a backward pass are compared instead of the results. ``faster``:
    whether the module's version of the function is called instead, with nothing to compare it with
    but what the call is ``like``; ``counted``: what the call costs is counted."""

    operator: str
    roles: dict[str, str]
    function: str
    number: int
    gradient: bool
    counted: bool
    faster: bool


class DraftedCall(TypedDict):
    """A call; ``like``: the number of an earlier one of the job whose results must be the same, or
    -1 for the one before."""

    function: str
    arguments: dict[str, DraftedArgument]
    variation: NotRequired[Variation]
    like: NotRequired[int]
    reference: NotRequired[Reference]


class RunError(TypedDict):
    """Why a call ended early: ``line`` is the innermost of the file, ``host_line`` of host code;
    ``by`` is who raised it."""

    kind: str
    text: str
    line: int | None
    host_line: int | None
    by: Literal["host", "launch", "kernel", "torch"]


class RunFault(TypedDict):
    """An access, a race or an early load, in words; ``lines`` of the file."""

    text: str
    lines: list[int]


class DraftedResult(TypedDict):
    """A tensor that came back, or that was given and changed."""

    name: str
    shape: list[int]
    dtype: str
    unwritten: int
    not_finite: int
    elements: int


class Deviation(TypedDict):
    """One element of a result that is not the reference's, and how many are not.

    ``of`` names the reference. Infinities and NaN are words, as JSON has no number for them.
    """

    of: str
    at: list[int]
    expected: str
    found: str
    wrong: int
    elements: int


class DraftedRun(TypedDict, total=False):
    """``changed``: inputs that hold something else afterwards; ``difference``: between the results
    and those of the call that they must be ``like``; ``deviation``: from the reference, None where
    there is none; ``agreed``: the reference could be computed and is the result; ``arguments``: of
    a call that was written, empty where there is none of its number; ``unusable``: why what was
    written says nothing; ``costs``: what was counted."""

    error: RunError | None
    seconds: float
    launches: dict[str, int]
    configs: int
    outside: list[RunFault]
    races: list[RunFault]
    early: list[RunFault]
    changed: list[str]
    results: list[DraftedResult]
    difference: str | None
    deviation: Deviation | None
    agreed: bool
    arguments: dict[str, DraftedArgument]
    unusable: str
    costs: dict[Cost, int]


class DraftedRuns(TypedDict):
    """A run a call, in order; ``failure``: why the file cannot be imported, and then no runs."""

    runs: list[DraftedRun]
    failure: RunError | None


class DraftedJob(Job[DraftedRuns]):
    """Run calls in the interpreter; each may take ``seconds``.

    ``written``: where a module of calls and references lies (see ``drafted.written_calls``).
    """

    kind: Literal["drafted"]
    module: str
    written: str | None
    calls: list[DraftedCall]
    seconds: float
