"""Charts as small SVG drawings, coloured by the classes of the page and readable as text."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

_WIDTH, _HEIGHT = 720, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 16, 44
_LABEL_GAP = 13
_MOST_LABELS = 12


@dataclass(frozen=True)
class Point:
    """One mark; ``kind`` is a class of the page: "kept", "refused" or "original"."""

    x: float
    y: float
    label: str
    kind: str


@dataclass(frozen=True)
class _Axis:
    """Values along one axis, and where they are drawn."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def position_of(self, value: float) -> float:
        low, high = (self.low, self.high)
        if self.log:
            value, low, high = (math.log10(max(v, 1e-30)) for v in (value, low, high))
        share = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self) -> list[float]:
        if self.log:
            return _log_ticks(self.low, self.high)
        step = _step((self.high - self.low) / 5)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _step(rough: float) -> float:
    """The next larger of 1, 2, 5 times a power of ten."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= rough * (1 - 1e-9))


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    several = (1,) if len(powers) > 5 else (1, 2, 5)
    every = (n * 10.0**power for power in powers for n in several)
    return [value for value in every if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]


def best_chart(
    points: Sequence[Point], steps: Sequence[tuple[float, float]], x_label: str, about: str
) -> Markup:
    """The speed-up reached so far as a line of steps, and each trial's own as a mark."""
    last = max([x for x, _ in steps] + [point.x for point in points])
    values = [y for _, y in steps] + [point.y for point in points]
    wide = max(values) / min(values) > 8
    low, high = (min(values) / 1.2, max(values) * 1.2) if wide else (0.0, max(values) * 1.15)
    x = _Axis(0.0, 1.04 * last or 1.0, _LEFT, _WIDTH - _RIGHT)
    y = _Axis(low, high, _HEIGHT - _BOTTOM, _TOP, log=wide)
    corners = list(_corners([*steps, (last, steps[-1][1])]))
    line = " ".join(f"{x.position_of(a)},{y.position_of(b)}" for a, b in corners)
    body = [
        *_grid(x, y, x_label, "speed-up over the original"),
        Markup('<line class="unit" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            x.start, y.position_of(1.0), x.stop, y.position_of(1.0)
        ),
        Markup('<polyline class="best" points="{}"/>').format(line),
        *(_mark(x.position_of(point.x), y.position_of(point.y), point) for point in points),
    ]
    return _svg(body, about)


def _corners(steps: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    before: float | None = None
    for at, value in steps:
        if before is not None and value != before:
            yield at, before
        yield at, value
        before = value


def roof_chart(peak_flop: float, peak_bytes: float, points: Sequence[Point], about: str) -> Markup:
    """The roof of a chip over operations a byte, and what each trial reaches below it."""
    ridge = peak_flop / peak_bytes
    xs = [ridge, *(point.x for point in points)]
    x = _Axis(min(xs) / 6, max(xs) * 6, _LEFT, _WIDTH - _RIGHT, log=True)
    lowest = min([point.y for point in points] + [peak_flop])
    y = _Axis(lowest / 3, peak_flop * 2, _HEIGHT - _BOTTOM, _TOP, log=True)
    # The slope begins where it enters the drawing, on its left or on its lower edge.
    begin = max(x.low, y.low / peak_bytes)
    corners = ((begin, begin * peak_bytes), (ridge, peak_flop), (x.high, peak_flop))
    line = " ".join(f"{x.position_of(a)},{y.position_of(b)}" for a, b in corners)
    body = [
        *_grid(x, y, "operations a byte", "operations a second"),
        Markup('<polyline class="roof" points="{}"/>').format(line),
        *_labelled(x, y, points),
    ]
    return _svg(body, about)


def tree_chart(points: Sequence[Point], edges: Sequence[tuple[int, int]], about: str) -> Markup:
    """Nodes by generation and speed, each joined to its parent; ``edges`` are places in
    ``points``."""
    values = [1.0, *(point.y for point in points)]
    x = _Axis(0.0, max(point.x for point in points) + 0.5, _LEFT, _WIDTH - _RIGHT)
    y = _Axis(min(values) / 1.1, max(values) * 1.1, _HEIGHT - _BOTTOM, _TOP, log=True)
    lines = [
        Markup('<line class="edge" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            x.position_of(points[a].x),
            y.position_of(points[a].y),
            x.position_of(points[b].x),
            y.position_of(points[b].y),
        )
        for a, b in edges
    ]
    marks = (_mark(x.position_of(point.x), y.position_of(point.y), point) for point in points)
    body = [*_grid(x, y, "generation", "speed-up over the original"), *lines, *marks]
    return _svg(body, about)


def _labelled(x: _Axis, y: _Axis, points: Sequence[Point]) -> Iterator[Markup]:
    """Marks with their labels on the right, none over another; of many, those kept alone."""
    free = math.inf
    named = {id(one) for one in points if len(points) <= _MOST_LABELS or one.kind != "refused"}
    for point in sorted(points, key=lambda one: one.y):
        across, up = x.position_of(point.x), y.position_of(point.y)
        if id(point) not in named:
            yield _mark(across, up, point)
            continue
        free = min(up + 4, free - _LABEL_GAP)
        yield _mark(across, up, point)
        yield Markup('<line class="lead" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            across + 5, up, across + 17, round(free - 4, 1)
        )
        yield Markup('<text class="mark" x="{}" y="{}">{}</text>').format(
            across + 20, round(free, 1), point.label
        )


def _mark(across: float, up: float, point: Point) -> Markup:
    title = Markup("<title>{}</title>").format(point.label)
    if point.kind == "refused":
        arms = f"M{across - 4},{up - 4}l8,8m0,-8l-8,8"
        return Markup('<path class="point refused" d="{}">{}</path>').format(arms, title)
    return Markup('<circle class="point {}" cx="{}" cy="{}" r="4.5">{}</circle>').format(
        point.kind, across, up, title
    )


def _grid(x: _Axis, y: _Axis, x_label: str, y_label: str) -> Iterator[Markup]:
    for value in y.ticks():
        yield Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            x.start, y.position_of(value), x.stop, y.position_of(value)
        )
        yield Markup('<text class="tick" text-anchor="end" x="{}" y="{}">{}</text>').format(
            x.start - 6, y.position_of(value) + 4, short(value)
        )
    for value in x.ticks():
        yield Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            x.position_of(value), y.stop, x.position_of(value), y.start
        )
        yield Markup('<text class="tick" text-anchor="middle" x="{}" y="{}">{}</text>').format(
            x.position_of(value), y.start + 16, short(value)
        )
    yield Markup('<text class="axis" text-anchor="middle" x="{}" y="{}">{}</text>').format(
        (x.start + x.stop) / 2, _HEIGHT - 6, x_label
    )
    middle = (y.start + y.stop) / 2
    yield Markup(
        '<text class="axis" text-anchor="middle" transform="rotate(-90 14 {0})" x="14" y="{0}">'
        "{1}</text>"
    ).format(middle, y_label)


def short(value: float) -> str:
    """A figure in a few characters: ``0.5``, ``20k``, ``1.5T``."""
    for limit, unit in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"


def _svg(body: Sequence[Any], about: str) -> Markup:
    return drawing(body, about, _WIDTH, _HEIGHT, "chart")


def drawing(body: Sequence[Any], about: str, width: float, height: float, classes: str) -> Markup:
    """A picture of a size, with what it shows in words."""
    head = (
        f'<svg class="{classes}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(about)}">'
    )
    return Markup("").join([Markup(head), Markup("<title>{}</title>").format(about), *body,
                            Markup("</svg>")])  # fmt: skip
