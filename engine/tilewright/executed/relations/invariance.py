"""The same results with something changed that no right result depends on."""

from collections.abc import Callable, Iterator, Sequence

from tilewright.executed.drafts import Space
from tilewright.executed.observations import (
    Fault,
    Reached,
    Run,
    Sighting,
    Wrong,
    faults,
    is_clean,
    reached,
)
from tilewright.executed.relations.model import SoundDraft
from tilewright.worker.messages.drafted import DraftedCall, DraftedRun, Variation

_CONFIGS = 4
_RANDOM = ("tl.rand", "language.rand", "philox")
_CONTENTS = ("normal", "positive", "negative")
_OTHER_LAYOUT = "the same values in another layout"
_DOUBLED = "tiles twice as long as the next power of two"
Change = Callable[[DraftedCall], DraftedCall]


def invariance(sound: SoundDraft, run: Run) -> Iterator[Sighting]:
    """What differs between a call and the same call with something changed.

    With ordinary extents a change is tried first: what makes a difference there may be meant to.
    Masked lanes, and lanes beyond the next power of two, are never meant to; nor is the layout of
    a tensor whose strides are read.
    """
    space, draft = sound.space, sound.draft
    for contents in _CONTENTS:
        firsts = [space.call(draft, sizes, contents=contents) for sizes in (sound.usual, sound.odd)]
        changes = [*_changes(space)]
        if layouts := space.layouts(draft):
            changes.append((Wrong.LAYOUT, _OTHER_LAYOUT, lambda call: space.stored(call, layouts)))
        calls = [*firsts]
        for _, _, change in changes:
            calls += [{**change(first), "like": at} for at, first in enumerate(firsts)]
        runs = run(calls)
        if len(runs) < len(calls) or not is_clean(runs[0]):
            return
        if contents == "normal":
            yield from (Sighting(fault, calls[1], False) for fault in faults(runs[1]))
        if not is_clean(runs[1]):
            return
        for number, (kind, said, _) in enumerate(changes):
            at = 2 + 2 * number
            yield from _differing(kind, said, calls[at : at + 2], runs[at : at + 2])


def _differing(
    kind: Wrong, said: str, calls: Sequence[DraftedCall], runs: Sequence[DraftedRun]
) -> Iterator[Sighting]:
    """What two calls show that are like those with ordinary and with odd extents."""
    if any(reached(one) is not Reached.ENDED for one in runs):
        return
    differences = [one.get("difference") or "" for one in runs]
    if any("another kind" in one for one in differences):
        return
    is_sure = kind in (Wrong.LAYOUT, Wrong.LANES) or (said == _DOUBLED and differences[1])
    if differences[0] and not is_sure:
        return
    for call, difference, is_ordinary in zip(calls, differences, (True, False), strict=True):
        if difference:
            yield Sighting(Fault(kind, 0, f"{difference} with {said}"), call, is_ordinary)
            return


def _changes(space: Space) -> Iterator[tuple[Wrong, str, Change]]:
    """What right results do not depend on: (kind, in words, the call changed so)."""

    def varied(variation: Variation) -> Change:
        return lambda call: {**call, "variation": variation}

    lanes = "other contents of masked lanes that have no `other`"
    yield Wrong.LANES, lanes, varied({"lanes": True})
    if any(space.says(word) for word in _RANDOM):
        return  # which numbers a lane draws may depend on its place in a tile
    if space.says("next_power_of_2"):
        yield Wrong.TILES, _DOUBLED, varied({"doubled": True})
    for size in space.tiles:
        for other in (size // 2, size * 2):
            said = f"{other} instead of {size} in the function"
            yield Wrong.TILES, said, varied({"tiles": [size, other]})
    for number in range(1, _CONFIGS if space.says("autotune") else 1):
        yield Wrong.TILES, f"configuration {number + 1}", varied({"config": number})
