"""The archive of a search: which behaviour its correct texts have, and how fast they are."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from tilewright.figures import speedup
from tilewright.report.charts import drawing
from tilewright.report.curves import Curve

Json = Mapping[str, Any]
BINS = 4
_CELL, _GAP, _LEFT, _TOP, _BELOW = 52, 36, 52, 30, 40
_FAINTEST = 0.12


def archive_grid(run: Json) -> Curve | None:
    """One square of cells for each value of the third axis; None where there is no tree."""
    found = run.get("archive")
    if found is None:
        return None
    title, axes, cells = "Archive by behaviour", found["axes"], found["cells"]
    if not cells:
        return Curve(title, None, "No candidate of the tree was correct, so no cell holds a text.")
    rows = tuple(
        (
            ", ".join(f"{name} {at}" for name, at in zip(axes, one["cell"], strict=True)),
            str(one["texts"]), str(one["parents"]), speedup(one["speed"]),
            f"{one['trial']}",
        )
        for one in cells
    )  # fmt: skip
    about = f"{len(cells)} of {BINS ** len(axes)} cells hold a correct text"
    note = (
        f"{about}. A cell has the fastest speed-up over the original in it and, in brackets, its "
        "number of correct texts. Levels of an axis are those of docs/runs.md."
    )
    head = ("Cell", "Correct texts", "Parents at the end", "Fastest", "In trial")
    return Curve(title, _drawing(axes, cells, about), note, head, rows)


def _drawing(axes: Sequence[str], cells: Sequence[Json], about: str) -> Markup:
    side = BINS * _CELL
    width = _LEFT + BINS * (side + _GAP)
    height = _TOP + side + _BELOW
    timed = [math.log(one["speed"]) for one in cells if one["speed"] is not None]
    low, high = min(timed, default=0.0), max(timed, default=0.0)
    by_cell = {tuple(one["cell"]): one for one in cells}
    body: list[Markup] = []
    for third in range(BINS):
        left = _LEFT + third * (side + _GAP)
        body.append(_text(left + side / 2, _TOP - 12, f"{axes[2]} {third}", "axis"))
        for first in range(BINS):
            for second in range(BINS):
                x, y = left + second * _CELL, _TOP + (BINS - 1 - first) * _CELL
                body += _square(x, y, by_cell.get((first, second, third)), low, high)
        body += [
            _text(left + (second + 0.5) * _CELL, _TOP + side + 14, str(second), "tick")
            for second in range(BINS)
        ]
        body.append(_text(left + side / 2, height - 8, axes[1], "axis"))
    body += [
        _text(_LEFT - 10, _TOP + (BINS - 0.5 - first) * _CELL + 4, str(first), "tick")
        for first in range(BINS)
    ]
    middle = _TOP + side / 2
    body.append(
        Markup(
            '<text class="axis" text-anchor="middle" transform="rotate(-90 16 {0})" x="16" '
            'y="{0}">{1}</text>'
        ).format(middle, axes[0])
    )
    return drawing(body, about, width, height, "chart wide")


def _square(x: float, y: float, one: Json | None, low: float, high: float) -> Iterator[Markup]:
    if one is None:
        yield Markup('<rect class="cell empty" x="{}" y="{}" width="{}" height="{}"/>').format(
            x + 1, y + 1, _CELL - 2, _CELL - 2
        )
        return
    speed = one["speed"]
    share = 0.0
    if speed is not None:
        share = (math.log(speed) - low) / (high - low) if high > low else 1.0
    opacity = round(_FAINTEST + (0.75 - _FAINTEST) * share, 2)
    told = f"{one['texts']} correct texts, the fastest {speedup(speed)} in trial {one['trial']}"
    yield Markup(
        '<rect class="cell" fill-opacity="{}" x="{}" y="{}" width="{}" height="{}">'
        "<title>{}</title></rect>"
    ).format(opacity, x + 1, y + 1, _CELL - 2, _CELL - 2, told)
    middle = x + _CELL / 2
    yield _text(middle, y + _CELL / 2, "—" if speed is None else f"{speed:.2f}×", "mark")
    yield _text(middle, y + _CELL / 2 + 15, f"({one['texts']})", "tick")


def _text(x: float, y: float, text: str, kind: str) -> Markup:
    return Markup('<text class="{}" text-anchor="middle" x="{}" y="{}">{}</text>').format(
        kind, round(x, 1), round(y, 1), text
    )
