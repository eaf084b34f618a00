"""What to compile a kernel with, and how much of that is known rather than assumed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.targets.model import LaunchFacts

# What the worker says of a kernel that importing its file makes none of.
_NOT_MADE = "has no @triton.jit kernel"


class Origin(StrEnum):
    """Where a signature comes from, the surest first."""

    SPEC = "spec"
    CAPTURED = "captured"
    INFERRED = "inferred"


@dataclass(frozen=True)
class Assumption:
    """What one argument was taken for, and why; ``line`` is of the user's file, 1-based."""

    name: str
    taken: str
    why: str
    line: int | None = None


@dataclass(frozen=True)
class Signature:
    """One launch to compile, and what of it was assumed, in words.

    ``launch.grid`` is empty where nothing tells it. ``compiler_says`` is why the compiler's front
    end takes none of the signatures that were tried; empty where it takes this one or was not
    asked.
    """

    launch: LaunchFacts
    origin: Origin
    assumptions: tuple[str, ...] = ()
    compiler_says: str = ""

    @property
    def is_made(self) -> bool:
        """Whether the kernel was there when its file was imported, for a compiler to see."""
        return _NOT_MADE not in self.compiler_says


@dataclass(frozen=True)
class Guess:
    """A launch inferred from the source, before a compiler has seen it.

    Attributes:
        launch: what is given for every parameter, in signature order.
        assumptions: one for each of them.
        defaulted: constexprs that have a default which is not a literal: the interpreter that
            imports the file fills them in.
        config: the autotune configuration to take, by its place; negative counts from the end.
    """

    launch: LaunchFacts
    assumptions: tuple[Assumption, ...] = ()
    defaulted: frozenset[str] = field(default_factory=frozenset)
    config: int = 0


def in_words(assumptions: Iterable[Assumption]) -> tuple[str, ...]:
    """A sentence for all that was taken for the same and for the same reason."""
    groups: dict[tuple[str, str, int | None], list[str]] = {}
    for one in assumptions:
        groups.setdefault((one.taken, one.why, one.line), []).append(one.name)
    return tuple(_sentences(groups))


def _sentences(groups: dict[tuple[str, str, int | None], list[str]]) -> Iterator[str]:
    for (taken, why, line), names in groups.items():
        place = f" (line {line})" if line else ""
        yield f"{', '.join(names)}: {taken}, {why}{place}"
