"""Flags that a call may leave out change nothing of what is read and written."""

from collections.abc import Iterator

from tilewright.executed.observations import Run, Sighting, faults, is_clean
from tilewright.executed.relations.model import SoundDraft


def with_flags(sound: SoundDraft, run: Run) -> Iterator[Sighting]:
    """What odd extents show with the other value of each flag, where ordinary ones show nothing."""
    space, draft = sound.space, sound.draft
    calls = [space.call(draft, sizes, flags=True) for sizes in (sound.usual, sound.odd)]
    if calls[0] == space.call(draft, sound.usual):
        return
    runs = run(calls)
    if len(runs) == len(calls) and is_clean(runs[0]):
        yield from (Sighting(fault, calls[1], False) for fault in faults(runs[1]))
