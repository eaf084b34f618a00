"""Places of a name in a text, and obstacles: places that may be of it."""

from dataclasses import dataclass
from enum import StrEnum

from tilewright.source.text import Range


class Role(StrEnum):
    """Where the name of a kernel or of its parameter stands."""

    DEFINITION = "definition"
    BODY = "body"
    CONFIGURATION = "configuration"
    LAUNCH = "launch"
    GRID = "grid"
    CALL = "call"


@dataclass(frozen=True, order=True)
class Use:
    """One place where a name stands; ``range`` covers the name alone, without quotes."""

    range: Range
    role: Role


@dataclass(frozen=True, order=True)
class Obstacle:
    """Why a place on a 1-based line may name something without that being certain."""

    line: int
    reason: str


@dataclass(frozen=True)
class Uses:
    """The places of a name in order, and what may be a place of it."""

    uses: tuple[Use, ...]
    obstacles: tuple[Obstacle, ...] = ()

    def use_at(self, line: int, column: int) -> Use | None:
        """The use that a place lies in."""
        return next((use for use in self.uses if use.range.contains(line, column)), None)

    @property
    def definition(self) -> Use:
        return next(use for use in self.uses if use.role is Role.DEFINITION)


@dataclass(frozen=True)
class Refusal:
    """Why a name cannot be changed."""

    reason: str
