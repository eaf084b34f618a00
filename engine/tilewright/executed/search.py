"""From a function's text to a call that it accepts, and from there to calls that may go wrong.

A first draft is changed in one choice at a time, towards drafts that come further. A draft counts
as the function's own where calls with ordinary extents, in two orders of their sizes, run with
nothing wrong; other extents are then tried with it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.executed import extents
from tilewright.executed.drafts import Draft, Space
from tilewright.executed.observations import (
    Fault,
    Reached,
    Run,
    Sighting,
    Wrong,
    faults,
    is_clean,
    reached,
    score,
)
from tilewright.executed.relations.model import SoundDraft
from tilewright.executed.relations.table import RELATIONS
from tilewright.worker.messages.drafted import DraftedCall, DraftedRun

_ROUNDS = 5
_MOST = 24
_CHUNK = 8
_HOPES = 2
_CALLS = 240
_HANGS = 1.5
_MOST_SLOW = 6
_MOST_SECONDS = 12.0


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


def _ordinary(space: Space, draft: Draft) -> list[DraftedCall]:
    symbols, leading = space.symbols(draft), space.leading(draft)
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
    symbols, leading = space.symbols(draft), space.leading(draft)
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
    sound = SoundDraft(space, draft, usual, willing)
    for relation in RELATIONS:
        yield from relation(sound, run)


def _is_clean_around(
    space: Space, draft: Draft, usual: Mapping[str, int], symbol: str, size: int, run: Run
) -> bool:
    """Whether nothing is wrong with the powers of two below and above an extent."""
    below = 1 << (size.bit_length() - 1)
    calls = [space.call(draft, {**usual, symbol: n}) for n in (below, 2 * below)]
    return all(is_clean(one) for one in run(calls))
