"""An extent beyond any fixed block changes nothing of what is read and written."""

from collections.abc import Iterator

from tilewright.executed import extents
from tilewright.executed.observations import Run, Sighting, Wrong, faults
from tilewright.executed.relations.model import SoundDraft

_LIMITS = frozenset({Wrong.OUTSIDE_READ, Wrong.OUTSIDE_WRITE, Wrong.UNWRITTEN})


def large_extents(sound: SoundDraft, run: Run) -> Iterator[Sighting]:
    """What such an extent shows: that ordinary ones may be in any order is known by then. A number
    among the arguments may be what bounds it, and then nothing is known."""
    space = sound.space
    if space.has_numbers or not space.is_stated:
        return
    leading = space.leading(sound.draft)
    calls = [
        space.call(sound.draft, {**sound.usual, symbol: extents.LARGE})
        for symbol in sound.usual if symbol not in leading
    ]  # fmt: skip
    for call, one in zip(calls, run(calls), strict=False):
        yield from (Sighting(f, call, False) for f in faults(one) if f.kind in _LIMITS)
