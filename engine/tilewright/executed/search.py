"""From a function's text to a call that it accepts, and from there to calls that may go wrong.

A first draft is changed in one choice at a time, towards drafts that come further. A draft counts
as the function's own where calls with ordinary extents, in two orders of their sizes, run with
nothing wrong; other extents are then tried with it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.executed import extents
from tilewright.executed.drafts import Draft, Space
from tilewright.executed.observations import (
    Fault,
    Reached,
    Wrong,
    faults,
    is_clean,
    reached,
    score,
)
from tilewright.worker.messages.drafted import (
    DraftedCall,
    DraftedRun,
    Variation,
)

Run = Callable[[Sequence[DraftedCall]], list[DraftedRun]]
_ROUNDS = 5
_MOST = 24
_CHUNK = 8
_HOPES = 2
_CONFIGS = 4
_CALLS = 240
_HANGS = 1.5
_MOST_SLOW = 6
_MOST_SECONDS = 12.0


@dataclass(frozen=True)
class Sighting:
    """A fault and the call that shows it; ``is_ordinary``: its extents are powers of two."""

    fault: Fault
    call: DraftedCall
    is_ordinary: bool


@dataclass(frozen=True)
class Tried:
    """What became of a function.

    Attributes:
        call: that it accepts; None where none was found.
        why: none was found.
        is_clean: the call has nothing wrong with ordinary extents.
        runs: how many calls were made.
    """

    function: str
    call: DraftedCall | None
    why: str = ""
    is_clean: bool = False
    sightings: tuple[Sighting, ...] = ()
    runs: int = 0


_WITHOUT_DATA = frozenset({Wrong.LAUNCH, Wrong.NAME})
_SEVERAL = 4


class _Counted:
    """Runs calls, at most ``_CALLS``, and keeps what was wrong with those that came to an end."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.count = 0
        self._slow = 0
        self._seconds = 0.0
        self._wrong: list[set[tuple[Wrong, int]]] = []

    def __call__(self, calls: Sequence[DraftedCall]) -> list[DraftedRun]:
        if self._slow >= _MOST_SLOW or self._seconds > _MOST_SECONDS:
            return []
        calls = calls[: max(0, _CALLS - self.count)]
        self.count += len(calls)
        runs = self._run(calls) if calls else []
        for one in runs:
            is_slow = one.get("seconds", 0.0) > _HANGS
            self._slow += is_slow
            self._seconds += one.get("seconds", 0.0)
            if reached(one) >= Reached.KERNEL_FAILED and not is_slow:
                self._wrong.append({(fault.kind, fault.line) for fault in faults(one)})
        return runs

    def is_always(self, fault: Fault) -> bool:
        """Whether each of several calls that reached a kernel shows a fault."""
        many = len(self._wrong) >= _SEVERAL
        return many and all((fault.kind, fault.line) in wrong for wrong in self._wrong)


def tried(space: Space, run: Run) -> Tried:
    """Find a call that a function accepts, and what goes wrong with it and with others like it."""
    counted = _Counted(run)
    draft, runs = _searched(space, counted)
    call = _ordinary(space, draft)[0]
    first = runs[0]
    if reached(first) in (Reached.REFUSED, Reached.LAUNCHED_NOTHING):
        error = first.get("error")
        why = error["text"] if error is not None else "no call launched a kernel"
        return Tried(space.function, None, why, runs=counted.count)
    clean = all(is_clean(one) for one in runs)
    sightings: tuple[Sighting, ...]
    if clean:
        sightings = tuple(_probed(space, draft, counted))
    else:
        pairs = [*zip(_ordinary(space, draft), runs, strict=True)]
        sightings = tuple(
            Sighting(f, c, True) for c, one in pairs for f in faults(one)
            if f.kind in _WITHOUT_DATA or space.is_alone or counted.is_always(f)
        )  # fmt: skip
    return Tried(space.function, call, "", clean, sightings, counted.count)


def _leading(space: Space, draft: Draft) -> frozenset[str]:
    """The symbols that no tensor has among its last two axes."""
    shapes = space.shapes(space.decided(draft)).values()
    last = {axis for axes in shapes for axis in axes[-2:]}
    return frozenset(str(a) for axes in shapes for a in axes if a not in last)


def _ordinary(space: Space, draft: Draft) -> list[DraftedCall]:
    symbols, leading = space.symbols(draft), _leading(space, draft)
    return [
        space.call(draft, extents.ordinary(symbols, leading, turned=turned))
        for turned in (False, True)
    ]


Scores = tuple[tuple[int, int, int], ...]


def _searched(space: Space, run: Run) -> tuple[Draft, list[DraftedRun]]:
    """The draft that comes furthest, and its runs with both orders of sizes."""
    best = space.first
    runs = _both(space, best, run)
    for _ in range(_ROUNDS):
        if all(is_clean(one) for one in runs):
            break
        better = _improved(space, best, runs, run)
        if better is None:
            break
        best, runs = better
    return best, runs


def _improved(
    space: Space, best: Draft, runs: Sequence[DraftedRun], run: Run
) -> tuple[Draft, list[DraftedRun]] | None:
    """The best draft that has one other option; the first with nothing wrong, where there is."""
    top, found = _score(runs), None
    for tier in _by_relevance(space, best, runs):
        for at in range(0, min(len(tier), _MOST), _CHUNK):
            for draft, both in _hopeful(space, tier[at : at + _CHUNK], top[0], run):
                if all(is_clean(one) for one in both):
                    return draft, both
                if _score(both) > top:
                    top, found = _score(both), (draft, both)
        if found is not None:
            break
    return found


def _hopeful(
    space: Space, chunk: Sequence[Draft], least: tuple[int, int, int], run: Run
) -> Iterator[tuple[Draft, list[DraftedRun]]]:
    """The best drafts of some by their first call, with both calls of them."""
    firsts = run([_ordinary(space, draft)[0] for draft in chunk])
    known = sorted(zip(firsts, chunk, strict=False), key=lambda one: score(one[0]), reverse=True)
    for first, draft in known[:_HOPES]:
        if score(first) >= least and (second := run([_ordinary(space, draft)[1]])):
            yield draft, [first, *second]


_GROUPS = (("same", "value"), ("contents", "shape"), ("dtype",))


def _by_relevance(space: Space, draft: Draft, runs: Sequence[DraftedRun]) -> Iterator[list[Draft]]:
    """Drafts with one other option in groups: equal extents and values before other shapes and
    types; in each group those first that change what a fault or an error names."""
    said = " ".join(fault.text for one in runs for fault in faults(one))
    lines = " ".join(space.line(one.get("error")) for one in runs)
    words = set(re.findall(r"\w+", f"{said} {lines}"))
    shapes = space.shapes(space.decided(draft))
    words |= {str(axis) for name, axes in shapes.items() if name in words for axis in axes}
    found = [*space.neighbours(draft)]
    for group in _GROUPS:
        own = [one for one in found if one[0].what in group]
        own.sort(key=lambda one: one[0].name not in words)
        yield [other for _, other in own]


def _both(space: Space, draft: Draft, run: Run) -> list[DraftedRun]:
    return run(_ordinary(space, draft))


def _score(runs: Sequence[DraftedRun]) -> Scores:
    return tuple(sorted(score(one) for one in runs))


def _probed(space: Space, draft: Draft, run: Run) -> Iterator[Sighting]:
    """What goes wrong with other extents, layouts and configurations.

    A fault with an odd extent counts where the powers of two around that extent show none: then
    no order of two extents that the function takes for granted is broken.
    """
    symbols, leading = space.symbols(draft), _leading(space, draft)
    usual = extents.ordinary(symbols, leading)
    small = extents.odd(symbols, leading)
    calls = [space.call(draft, {**usual, symbol: small[symbol]}) for symbol in symbols]
    runs = run(calls)
    willing = dict(usual)
    for symbol, call, one in zip(symbols, calls, runs, strict=False):
        found = [*faults(one)]
        if reached(one) is Reached.ENDED and not found:
            willing[symbol] = small[symbol]
        elif found and _is_clean_around(space, draft, usual, symbol, small[symbol], run):
            yield from (Sighting(fault, call, False) for fault in found)
    yield from _of_large(space, draft, usual, run)
    yield from _compared(space, draft, usual, willing, run)
    yield from _of_flags(space, draft, usual, willing, run)


_LIMITS = frozenset({Wrong.OUTSIDE_READ, Wrong.OUTSIDE_WRITE, Wrong.UNWRITTEN})


def _of_large(space: Space, draft: Draft, usual: Mapping[str, int], run: Run) -> Iterator[Sighting]:
    """What an extent beyond any fixed block shows: that ordinary ones may be in any order is known
    by then. A number among the arguments may be what bounds it, and then nothing is known."""
    if space.has_numbers or not space.is_stated:
        return
    leading = _leading(space, draft)
    calls = [
        space.call(draft, {**usual, symbol: extents.LARGE})
        for symbol in usual if symbol not in leading
    ]  # fmt: skip
    for call, one in zip(calls, run(calls), strict=False):
        yield from (Sighting(f, call, False) for f in faults(one) if f.kind in _LIMITS)


def _of_flags(
    space: Space, draft: Draft, usual: Mapping[str, int], odd: Mapping[str, int], run: Run
) -> Iterator[Sighting]:
    """What odd extents show with the flags that a call may leave out, where ordinary ones show
    nothing."""
    calls = [space.call(draft, sizes, flags=True) for sizes in (usual, odd)]
    if calls[0] == space.call(draft, usual):
        return
    runs = run(calls)
    if len(runs) == len(calls) and is_clean(runs[0]):
        yield from (Sighting(fault, calls[1], False) for fault in faults(runs[1]))


def _compared(
    space: Space, draft: Draft, usual: Mapping[str, int], odd: Mapping[str, int], run: Run
) -> Iterator[Sighting]:
    """What differs between a call and the same call with something changed.

    With ordinary extents a change is tried first: what makes a difference there may be meant to.
    Masked lanes, and lanes beyond the next power of two, are never meant to; nor is the layout of
    a tensor whose strides are read.
    """
    for contents in _CONTENTS:
        firsts = [space.call(draft, sizes, contents=contents) for sizes in (usual, odd)]
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


_RANDOM = ("tl.rand", "language.rand", "philox")
_CONTENTS = ("normal", "positive", "negative")
_OTHER_LAYOUT = "the same values in another layout"
_DOUBLED = "tiles twice as long as the next power of two"


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


Change = Callable[[DraftedCall], DraftedCall]


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


def _is_clean_around(
    space: Space, draft: Draft, usual: Mapping[str, int], symbol: str, size: int, run: Run
) -> bool:
    """Whether nothing is wrong with the powers of two below and above an extent."""
    below = 1 << (size.bit_length() - 1)
    calls = [space.call(draft, {**usual, symbol: n}) for n in (below, 2 * below)]
    return all(is_clean(one) for one in run(calls))
