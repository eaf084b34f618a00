"""Line pictures as SVG: panels next to each other, bands around lines, one legend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from finding import Curve, Figure, Panel

COLOURS = (
    "#1b66c9", "#c2410c", "#15803d", "#7e22ce", "#111827", "#0e9bb5", "#db2777", "#9a8c0a",
)  # fmt: skip
_PANEL, _HEIGHT = 300, 230
_IN_A_ROW = 3
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 14, 30, 40
_LEGEND_ROW = 18
_STYLE = (
    "text{font:11px sans-serif;fill:#1f2937}.t{font-size:12px;font-weight:600}"
    ".g{stroke:#e5e7eb}.a{stroke:#6b7280;fill:none}.l{fill:none;stroke-width:1.8}"
)


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return round(self.start + share * (self.stop - self.start), 1)

    def ticks(self) -> list[float]:
        return [self.low + (self.high - self.low) * n / 4 for n in range(5)]


def svg(figure: Figure) -> str:
    """The figure as an SVG document."""
    names = list(dict.fromkeys(curve.name for panel in figure.panels for curve in panel.curves))
    colours = {name: COLOURS[n % len(COLOURS)] for n, name in enumerate(names)}
    width = _PANEL * min(_IN_A_ROW, len(figure.panels))
    columns = max(1, width // 230)
    drawn = _HEIGHT * -(-len(figure.panels) // _IN_A_ROW)
    height = drawn + -(-len(names) // columns) * _LEGEND_ROW + 8
    body = []
    for number, panel in enumerate(figure.panels):
        down, right = divmod(number, _IN_A_ROW)
        body.append(f'<g transform="translate({right * _PANEL} {down * _HEIGHT})">')
        body += [*_panel(figure, panel, colours), "</g>"]
    body.append(f'<g transform="translate(0 {drawn})">')
    body += [*_legend(names, colours, columns, width / columns), "</g>"]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(figure.title)}">'
    )
    ground = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    about = f"<title>{escape(figure.title)}</title><style>{_STYLE}</style>"
    return "\n".join([head, about, ground, *body, "</svg>"]) + "\n"


def _panel(figure: Figure, panel: Panel, colours: dict[str, str]) -> Iterator[str]:
    xs = [x for curve in panel.curves for x in curve.x] or [0.0, 1.0]
    ys = [y for one in panel.curves for y in (*one.y, *one.low, *one.high)] or [0.0, 1.0]
    across = _Scale(min(xs), max(xs), _LEFT, _PANEL - _RIGHT)
    top = max(ys) if figure.top is None else figure.top
    up = _Scale(min(0.0, *ys), top, _HEIGHT - _BOTTOM, _TOP)
    yield f'<text class="t" x="{_LEFT}" y="18">{escape(panel.title)}</text>'
    for value in up.ticks():
        at = up.at(value)
        yield f'<line class="g" x1="{across.start}" y1="{at}" x2="{across.stop}" y2="{at}"/>'
        yield f'<text text-anchor="end" x="{across.start - 5}" y="{at + 4}">{value:.3g}</text>'
    for value in across.ticks():
        at = across.at(value)
        yield f'<text text-anchor="middle" x="{at}" y="{up.start + 15}">{value:.3g}</text>'
    corners = f"M{across.start},{up.stop}V{up.start}H{across.stop}"
    yield f'<path class="a" d="{corners}"/>'
    middle = (across.start + across.stop) / 2
    under = f'x="{middle}" y="{_HEIGHT - 8}"'
    yield f'<text text-anchor="middle" {under}>{escape(figure.x_label)}</text>'
    half = (up.start + up.stop) / 2
    yield (
        f'<text text-anchor="middle" transform="rotate(-90 {11} {half})" '
        f'x="{11}" y="{half}">{escape(figure.y_label)}</text>'
    )
    for curve in panel.curves:
        yield from _drawn(curve, across, up, colours[curve.name], steps=panel.steps)


def _drawn(curve: Curve, across: _Scale, up: _Scale, colour: str, *, steps: bool) -> Iterator[str]:
    if curve.low:
        there = [*zip(curve.x, curve.high, strict=True)]
        back = [*zip(curve.x, curve.low, strict=True)][::-1]
        points = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in (*there, *back))
        yield f'<polygon points="{points}" fill="{colour}" fill-opacity="0.12"/>'
    pairs = list(zip(curve.x, curve.y, strict=True))
    points = " ".join(f"{across.at(x)},{up.at(y)}" for x, y in (_stairs(pairs) if steps else pairs))
    yield f'<polyline class="l" points="{points}" stroke="{colour}"/>'


def _stairs(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    before: float | None = None
    for x, y in points:
        if before is not None:
            yield x, before
        yield x, y
        before = y


def _legend(
    names: Sequence[str], colours: dict[str, str], columns: int, width: float
) -> Iterator[str]:
    for number, name in enumerate(names):
        x = number % columns * width + 12
        y = number // columns * _LEGEND_ROW + 10
        ends = f'x1="{x}" y1="{y}" x2="{x + 18}" y2="{y}"'
        yield f'<line {ends} stroke="{colours[name]}" stroke-width="3"/>'
        yield f'<text x="{x + 24}" y="{y + 4}">{escape(name)}</text>'
