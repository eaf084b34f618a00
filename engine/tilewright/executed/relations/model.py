"""A draft that a function runs with nothing wrong, and what is asked of it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tilewright.executed.drafts import Draft, Space
from tilewright.executed.observations import Run, Sighting


@dataclass(frozen=True)
class SoundDraft:
    """A draft whose calls with powers of two as extents show no fault in both orders of sizes.

    Attributes:
        usual: powers of two, by symbol.
        odd: the same with other extents wherever one alone showed no fault either.
    """

    space: Space
    draft: Draft
    usual: Mapping[str, int]
    odd: Mapping[str, int]


Relation = Callable[[SoundDraft, Run], Iterator[Sighting]]
"""Makes calls and yields what contradicts it. A run may be refused or missing: then it says
nothing."""
