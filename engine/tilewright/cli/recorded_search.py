"""What ``tilewright show`` says of a search: its curve, its archive and its memory, as text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.report.archive import BINS
from tilewright.report.curves import costs

Json = Mapping[str, Any]
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_CELL = 8


def search_lines(run: Json) -> Iterator[str]:
    """All of it; nothing for a run that timed nothing and has no tree."""
    yield from _curves(run)
    for ended in (run.get("search") or {}).get("ended", ()):
        yield f"Ended: {ended}"
    if run.get("archive") is not None:
        yield from _archive(run["archive"])
    yield from _memory(run)


def _curves(run: Json) -> Iterator[str]:
    """The best so far over trials and, with models, over what they cost."""
    best = [one["best"] for one in run["best"]]
    if not any(one["own"] is not None for one in run["best"]):
        return
    yield f"Best so far over {len(best)} trials: {curve(best)}"
    if run["calls"]:
        unit, spent = costs(run)
        yield f"Best so far over {spent[-1]:.4g} {unit}: {curve(over(best, spent))}"


def over(best: Sequence[float | None], positions: Sequence[float]) -> list[float | None]:
    """The best at equal steps of another axis, from nothing to its end."""
    end = positions[-1]
    found: list[float | None] = []
    for step in range(_WIDTH):
        at = end * (step + 1) / _WIDTH
        reached = [one for one, where in zip(best, positions, strict=True) if where <= at]
        found.append(reached[-1] if reached else 1.0)
    return found


def curve(values: Sequence[float | None]) -> str:
    """``1.00x ▁▁▃█ 2.10x``, on a logarithmic scale; a blank where nothing is known."""
    shown = _fewer(values)
    known = [one for one in shown if one is not None]
    if not known:
        return "not measured"
    low, high = math.log(min(1.0, *known)), math.log(max(1.0, *known))
    bars = "".join(" " if one is None else _bar(math.log(one), low, high) for one in shown)
    return f"1.00x {bars} {known[-1]:.2f}x"


def _fewer(values: Sequence[float | None]) -> list[float | None]:
    """At most a line's width of them, the last of each part."""
    if len(values) <= _WIDTH:
        return list(values)
    return [values[(at + 1) * len(values) // _WIDTH - 1] for at in range(_WIDTH)]


def _bar(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.0
    return _BARS[min(len(_BARS) - 1, int(share * len(_BARS)))]


def _archive(archive: Json) -> Iterator[str]:
    """Next to each other one table for each value of the third axis."""
    first, second, third = archive["axes"]
    cells = {tuple(one["cell"]): one for one in archive["cells"]}
    yield f"Archive: {len(cells)} of {BINS**3} cells hold a correct text; its fastest in each cell"
    planes = sorted({cell[2] for cell in cells})
    if not planes:
        return
    gap = "   "
    yield gap + gap.join(f"{f'{third} {plane}':<{BINS * _CELL}}" for plane in planes).rstrip()
    for row in reversed(range(BINS)):
        lines = [
            "".join(f"{_words(cells.get((row, column, plane))):>{_CELL}}" for column in range(BINS))
            for plane in planes
        ]
        yield f"{row}  " + gap.join(lines)
    numbers = "".join(f"{column:>{_CELL}}" for column in range(BINS))
    yield gap + gap.join([numbers] * len(planes))
    yield f"{gap}upwards: {first}; to the right: {second}"


def _words(cell: Json | None) -> str:
    if cell is None:
        return "."
    return f"({cell['texts']})" if cell["speed"] is None else f"{cell['speed']:.2f}x"


def _memory(run: Json) -> Iterator[str]:
    kept = {trial["number"] for trial in run["trials"] if trial["kept"]}
    for one in run.get("memory", ()):
        tried = ", ".join(f"{n}{' (best)' if n in kept else ''}" for n in one["trials"])
        yield (
            f"Recalled {one['id'][:8]} ({one['outcome']}, {one['ratio']:.2f}x "
            f"[{one['low']:.2f}, {one['high']:.2f}] on {one['device']}): {one['title']}; "
            f"trials: {tried or 'none'}"
        )
