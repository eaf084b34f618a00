"""What was seen of a kernel's launches; one file a kernel below ``.tilewright/launches``."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.errors import InputError
from tilewright.targets.model import ArgumentFacts, LaunchFacts, Target

VERSION = 2
# Files of the first version say neither what integer tensors held nor how large storages were.
READABLE = (1, 2)
FOLDER = ".tilewright/launches"
_ELEMENT = re.compile(r"(?:fp|bf|i|u)(\d+)")


class CaptureError(InputError):
    """A folder or file of captured launches that cannot be used."""


class Tuned(StrEnum):
    """How an autotuned launch came by its configuration."""

    CHOSEN = "chosen"
    FIRST = "first"


@dataclass(frozen=True)
class Placement:
    """Where a tensor argument lay, beyond what ``ArgumentFacts`` says of it.

    Attributes:
        offset: of its first element in its storage, in elements.
        alignment: the largest power of two that divides its address, 64 at most.
        storage: a number; arguments of one launch with the same number share a storage.
        storage_bytes: how large the whole storage is; None in files of version 1.
    """

    name: str
    offset: int
    alignment: int
    storage: int
    device: str
    storage_bytes: int | None = None


@dataclass(frozen=True)
class Contents:
    """What a tensor argument held before the first of equal launches.

    Attributes:
        low, high: the smallest and the largest (finite) value, both included.
        values: all of them in order, of an integer tensor with 1024 at most.
        ascending: of a longer integer tensor: no value is smaller than the one before.
        mean, std: of floats, where they were asked for (``--values``).
    """

    low: float
    high: float
    values: tuple[int, ...] | None = None
    ascending: bool = False
    mean: float | None = None
    std: float | None = None


@dataclass(frozen=True)
class Site:
    """The line that launched: the innermost that is not Triton's own."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Written:
    """Which tensor arguments had other bits after the launch than before, among those compared.

    Writing the bits that were there already is not seen.
    """

    names: tuple[str, ...]
    compared: tuple[str, ...]


@dataclass(frozen=True)
class CapturedLaunch:
    """One distinct launch.

    Attributes:
        facts: arguments, options and the evaluated grid, as the rest of the engine knows them.
        count: how often it came.
        tensors: where its tensor arguments lay.
        overlaps: pairs of arguments whose address ranges overlap.
        device: "cuda:0", or "interpreter", which does not show what the compiler or a device does.
        target: what Triton compiled for; None in the interpreter.
        tuned: None for a kernel without autotuner.
        written: None if it was not requested (``--writes``).
        failure: what it raised.
        contents: what integer tensors held, by argument.
        site: where its first came from.
        grid_reads: the arguments that the grid was computed from; None where it was no function.
    """

    facts: LaunchFacts
    count: int
    tensors: tuple[Placement, ...] = ()
    overlaps: tuple[tuple[str, str], ...] = ()
    device: str = ""
    target: Target | None = None
    tuned: Tuned | None = None
    written: Written | None = None
    failure: str | None = None
    contents: Mapping[str, Contents] = field(default_factory=dict)
    site: Site | None = None
    grid_reads: tuple[str, ...] | None = None

    @property
    def weight(self) -> int:
        """How much of the kernel's work it stands for: bits of its tensors, as often as it came."""
        return (1 + sum(_bits(argument) for argument in self.facts.arguments)) * self.count


def _bits(argument: ArgumentFacts) -> int:
    element = _ELEMENT.search(argument.type)
    elements = math.prod(argument.shape) if argument.shape is not None else 0
    return elements * int(element[1]) if element else 0


@dataclass(frozen=True)
class CapturedKernel:
    """A kernel's file of captured launches.

    Attributes:
        file, line, qualified_name: where the kernel stood.
        text_hash: of its text from the first decorator on, without comments and blank lines.
        others: launches beyond the limit of distinct ones: counted, not recorded.
        versions: of torch and triton.
    """

    version: int
    kernel: str
    qualified_name: str
    file: str
    line: int
    text_hash: str
    launches: tuple[CapturedLaunch, ...]
    others: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(launch.count for launch in self.launches) + self.others


@dataclass(frozen=True)
class Found:
    """What is captured of one source file: kernels as they still are, and those edited since."""

    fitting: tuple[CapturedKernel, ...] = ()
    stale: tuple[CapturedKernel, ...] = ()

    def launches(self) -> tuple[LaunchFacts, ...]:
        """Facts of the distinct launches that did not fail, the heaviest of each kernel first."""
        seen = [
            launch
            for kernel in self.fitting
            for launch in sorted(kernel.launches, key=lambda x: -x.weight)
            if launch.failure is None
        ]
        return tuple({repr(launch.facts): launch.facts for launch in seen}.values())
