"""Charts as inline SVG: lines, dots, bars, a matrix of shares; colours come from the page's style."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import NamedTuple

from ..words import counted, plain
from .page_style import STYLE

W, H = 380, 250  # of a chart, in its own units
LEFT, RIGHT, TOP, BOTTOM = 58, 20, 14, 40


class Line(NamedTuple):
    """One line of a chart."""

    name: str
    kind: str  # the CSS class that colours it
    points: Sequence[tuple[float, float]]


def percent(value: float) -> str:
    return f"{value:.0%}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two, about `count` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def line_chart(
    label: str,
    lines: Sequence[Line],
    across: str = "epoch",
    show: Callable[[float], str] = plain,
    span: tuple[float, float] | None = None,
    log_x: bool = False,
    mark: float | None = None,
    show_x: Callable[[float], str] | None = None,
    dots: Sequence[tuple[float, float, float, str]] = (),
    log_y: bool = False,
) -> str:
    """Lines over a common axis, with a legend; `mark` is an upright line (the best epoch).

    `show_x` is for an axis of other than whole numbers; `dots` are (x, y, radius, tooltip).
    """
    points = [p for line in lines for p in line.points if all(map(math.isfinite, p))]
    if not points:
        return f"<p class='faint'>No {escape(label)} yet.</p>"
    x_of, x_ticks = _across([p[0] for p in points], log_x, show_x is None)
    up = math.log10 if log_y else float
    low, high = span or _spread([up(p[1]) for p in points], not log_y)

    def y_of(value: float) -> float:
        return TOP + (H - TOP - BOTTOM) * (1 - (up(value) - low) / (high - low))

    parts = [f"<svg class='chart' viewBox='0 0 {W} {H}' role='img' aria-label='{escape(label)}'>"]
    for value in _powers(low, high) if log_y else ticks(low, high):
        y = y_of(value)
        parts.append(f"<line class='grid' x1='{LEFT}' x2='{W - RIGHT}' y1='{y:.1f}' y2='{y:.1f}'/>"
                     f"<text class='tick' x='{LEFT - 7}' y='{y + 4:.1f}' text-anchor='end'>{show(value)}</text>")  # fmt: skip
    for value in x_ticks:
        parts.append(f"<text class='tick' x='{x_of(value):.1f}' y='{H - BOTTOM + 18}' text-anchor='middle'>"
                     f"{(show_x or _short)(value)}</text>")  # fmt: skip
    parts.append(f"<text class='axis' x='{(LEFT + W - RIGHT) / 2}' y='{H - 5}' text-anchor='middle'>{escape(across)}</text>")  # fmt: skip
    if mark is not None:
        parts.append(f"<line class='mark' x1='{x_of(mark):.1f}' x2='{x_of(mark):.1f}' y1='{TOP}' y2='{H - BOTTOM}'>"
                     f"<title>best: {_short(mark)}</title></line>")  # fmt: skip
    parts += [_drawn(line, x_of, y_of, show) for line in lines]
    parts += [f"<circle class='bubble' cx='{x_of(x):.1f}' cy='{y_of(y):.1f}' r='{r:.1f}'><title>{escape(told)}</title></circle>"
              for x, y, r, told in dots]  # fmt: skip
    return "".join([*parts, "</svg>", _legend(lines)])


def _across(values: list[float], log: bool, whole: bool) -> tuple[Callable[[float], float], list[float]]:
    low, high = min(values), max(values)
    wide = W - LEFT - RIGHT
    if log:
        a, b = math.log10(low), math.log10(max(high, low * 1.01))
        return lambda v: LEFT + wide * (math.log10(v) - a) / (b - a), _powers(a, b)
    room = max(high - low, 1e-9)
    at = [t for t in ticks(low, high, 7 if whole else 5) if not whole or t == int(t)] if high > low else [low]
    if high == low:
        return lambda v: LEFT + wide / 2, at
    return lambda v: LEFT + wide * (v - low) / room, at


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten between two logarithms; also twice and five times them where those are few."""
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    if last - first > 2:
        return [10.0**p for p in range(first, last + 1)]
    found = [m * 10.0**p for p in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [v for v in found if low - 1e-9 <= math.log10(v) <= high + 1e-9]


def _spread(values: list[float], from_zero: bool) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return (0.0 if from_zero and 0 <= low < high * 0.5 else low - room), high + room


def _short(value: float) -> str:
    return f"{value:g}" if value == int(value) and abs(value) < 1e6 else f"{value:.0e}"


def _drawn(line: Line, x_of: Callable, y_of: Callable, show: Callable) -> str:
    points = [(x_of(x), y_of(y), x, y) for x, y in line.points if math.isfinite(y)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
    drawn = f"<polyline class='line {line.kind}' points='{path}'/>"
    if len(points) > 120:
        return drawn
    dots = "".join(
        f"<circle class='dot {line.kind}' cx='{x:.1f}' cy='{y:.1f}' r='2.6'><title>{escape(line.name)}, {_short(at)}: "
        f"{show(value)}</title></circle>" for x, y, at, value in points
    )  # fmt: skip
    return drawn + dots


def _legend(lines: Sequence[Line]) -> str:
    named = [(line.kind, line.name) for line in lines if line.name]
    return _keys(named) if len(named) > 1 else ""


def legend(*names: str) -> str:
    """What the first, second and third colour of some bars mean."""
    return _keys(zip(("one", "two", "three"), names))


def _keys(named: Iterable[tuple[str, str]]) -> str:
    shown = "".join(f"<span><i class='key {k}'></i>{escape(name)}</span>" for k, name in named)
    return f"<div class='legend'>{shown}</div>"


def matrix(names: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """A confusion matrix: a row for each true class, shaded by its share."""
    n = len(names)
    cell = max(14, min(46, 560 // max(n, 1)))
    longest = min(max(len(name) for name in names), 18)
    left, top = 12 + longest * 7, 12 + longest * 5
    beyond = max(0, 7 * min(len(names[-1]), 18) * 3 // 4 - cell // 2)  # of the last name, which leans
    wide, high = left + n * cell + 8 + beyond, top + n * cell + 4
    parts = [f"<svg class='matrix' viewBox='0 0 {wide} {high}' style='max-width:{wide * 1.25:.0f}px' role='img' "
             "aria-label='confusion matrix'>"]  # fmt: skip
    for i, row in enumerate(counts):
        total = max(sum(row), 1)
        y = top + i * cell
        parts.append(f"<text class='tick' x='{left - 7}' y='{y + cell / 2 + 4:.0f}' text-anchor='end'>{_cut(names[i])}</text>")  # fmt: skip
        x = left + i * cell + cell / 2
        parts.append(f"<text class='tick' transform='translate({x:.0f},{top - 7}) rotate(-40)'>{_cut(names[i])}</text>")
        for j, count in enumerate(row):
            share = count / total
            kind = "right" if i == j else "wrong"
            told = f"{escape(names[i])} answered {escape(names[j])}: {count} of {total}"
            parts.append(f"<rect class='cell {kind}' x='{left + j * cell}' y='{y}' width='{cell - 2}' height='{cell - 2}' "
                         f"rx='3' style='--s:{share:.3f}'><title>{told}</title></rect>")  # fmt: skip
            if count and cell >= 22:
                strong = " strong" if share > 0.55 else ""
                parts.append(f"<text class='count{strong}' x='{left + j * cell + cell / 2 - 1:.0f}' y='{y + cell / 2 + 4:.0f}' "
                             f"text-anchor='middle'>{count}</text>")  # fmt: skip
    return "".join([*parts, "</svg>"])


def _cut(name: str, most: int = 18) -> str:
    return escape(name if len(name) <= most else name[: most - 1] + "…")


MOST_BARS = 40  # below each other


def bars(rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]], show: Callable = percent) -> str:
    """A group of horizontal bars for each name: (CSS class, share of the longest, tooltip)."""
    parts = ["<div class='bars'>"]
    for name, values in rows[:MOST_BARS]:
        inner = "".join(
            f"<div class='bar' title='{escape(told)}'><i class='{kind}' style='width:{max(value, 0) * 100:.1f}%'></i></div>"
            for kind, value, told in values
        )
        last = escape(values[0][2].rpartition(" ")[2]) if values else ""
        parts.append(f"<div class='bar-name' title='{escape(name)}'>{_cut(name, 24)}</div><div class='bar-group'>{inner}</div><div class='bar-value'>{last}</div>")  # fmt: skip
    more = f"<p class='faint'>and {len(rows) - MOST_BARS} more, in test.json</p>" if len(rows) > MOST_BARS else ""
    return "".join([*parts, "</div>", more])


def calibration(bins: Sequence[tuple[float, float, int]]) -> str:
    """How often answers of a confidence were right, against that confidence; larger dots are more pictures."""
    most = max((n for _, _, n in bins), default=1)
    dots = [(sure, right, 3 + 9 * math.sqrt(n / most), f"{counted(n, 'answer')} with {sure:.0%} confidence: {right:.0%} right")
            for sure, right, n in bins]  # fmt: skip
    ideal = Line("", "faint-line", [(0.0, 0.0), (1.0, 1.0)])
    return line_chart("calibration", [ideal], "confidence of the answer", percent, (0.0, 1.0), show_x=percent, dots=dots)  # fmt: skip


def scatter(label: str, points: Sequence[tuple[float, float, str]], across: str) -> str:
    """Dots of (x, y, tooltip) around the dashed line on which both are the same."""
    values = [v for x, y, _ in points for v in (x, y) if math.isfinite(v)]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    low, high = low - room, high + room
    same = Line("", "faint-line", [(low, low), (high, high)])
    dots = [(x, y, 3.2, told) for x, y, told in points]
    return line_chart(label, [same], across, plain, (low, high), show_x=plain, dots=dots)


def histogram(values: Sequence[float], count: int = 12) -> str:
    """How often values lie in each of some ranges of the same width, at round numbers."""
    edges = ticks(min(values), max(values), count)
    if len(edges) < 2:
        return bars([(plain(values[0]), [("one", 1.0, f"{len(values):,}")])])
    step = edges[1] - edges[0]
    first = math.floor(min(values) / step + 1e-9)
    found: dict[int, int] = {}
    for v in values:
        found[math.floor(v / step + 1e-9)] = found.get(math.floor(v / step + 1e-9), 0) + 1
    most = max(found.values())
    rows = [(f"{plain(step * i)} to {plain(step * (i + 1))}", [("one", found.get(i, 0) / most, f"{found.get(i, 0):,}")])
            for i in range(first, max(found) + 1)]  # fmt: skip
    return bars(rows)


def sheet(*charts: tuple[str, str]) -> str:
    """Charts with their titles, as a file that stands alone: one beside the other, legends below."""
    x, high, parts = 12.0, 0.0, []
    for title, chart in charts:
        drawn, _, keys = chart.partition("</svg>")
        box = re.search(r"viewBox='0 0 ([\d.]+) ([\d.]+)'", drawn)
        if box is None:  # nothing to draw yet
            continue
        wide, tall = float(box[1]), float(box[2])
        inner = drawn.replace("<svg ", f"<svg x='{x:g}' y='30' width='{wide:g}' height='{tall:g}' ", 1)
        parts.append(f"<text x='{x + wide / 2:g}' y='20' text-anchor='middle'>{escape(title)}</text>{inner}</svg>")
        for i, (kind, name) in enumerate(re.findall(r"<i class='key ([\w ]+)'></i>([^<]*)", keys)):
            y = tall + 44 + 20 * i
            parts.append(f"<line class='line {kind}' x1='{x + LEFT:g}' x2='{x + LEFT + 22:g}' y1='{y - 4:g}' y2='{y - 4:g}'/>"
                         f"<text x='{x + LEFT + 30:g}' y='{y:g}'>{name}</text>")  # fmt: skip
            high = max(high, y)
        x, high = x + wide + 12, max(high, tall + 30)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {x:g} {high + 12:g}' style='width:{x:g}px;max-width:100%;font-family:system-ui,sans-serif'><style>{STYLE}</style>"
        f"<rect width='100%' height='100%' fill='var(--card)'/>{''.join(parts)}</svg>"
    )


def write(path: str, drawn: str) -> str:
    """A drawing as a file; the answer is its name."""
    from rushlight.io import atomic_write

    with atomic_write(path, "wb") as f:
        f.write(drawn.encode(errors="backslashreplace"))  # file names need not be UTF-8
    return os.path.basename(path)
