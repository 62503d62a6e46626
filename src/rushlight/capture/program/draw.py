"""A program as a picture: instructions down the page, arrows for values, bars for lifetimes; SVG."""

from __future__ import annotations

from html import escape
from pathlib import Path

from .instructions import Instruction, Program
from .show import _bytes as readable
from .slots import MADE

_ROW, _BOX, _LEFT, _BAR = 30, 250, 24, 5
_COLOURS = {
    "view": "#e8e8e8", "product": "#cfe3ff", "pointwise": "#d9f2d0", "update": "#ffe0b3",
    "random": "#ead6ff", "other": "#fff6cc",
}  # fmt: skip
_PRODUCTS = ("conv", "mm", "linear", "bmm", "baddbmm", "attention")


def draw(program: Program, path: str | Path) -> None:
    """Write the picture to a file."""
    Path(path).write_text(svg(program), encoding="utf-8")


def svg(program: Program) -> str:
    """The picture as text."""
    spans = program.lifetimes()
    lanes = _lanes(spans)
    width = _LEFT + _BOX + 60 + (max(lanes.values(), default=0) + 1) * (_BAR + 3) + 220
    height = (len(program) + 2) * _ROW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="monospace" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="18">{escape(_title(program))}</text>',
    ]
    parts += _arrows(program)
    parts += [_box(at, ins) for at, ins in enumerate(program.instructions)]
    parts += _bars(program, spans, lanes)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(program: Program) -> str:
    return (
        f"{len(program)} instructions on {program.device}, moving {readable(program.bytes_moved())} "
        f"(at least {readable(program.least_bytes())})"
    )


def _y(at: int) -> int:
    return (at + 1) * _ROW


def _box(at: int, ins: Instruction) -> str:
    shapes = ", ".join("x".join(map(str, s.shape)) or "scalar" for s in ins.outputs)
    label = f"{ins.name} {shapes}"
    tip = f"{ins!r}\n{ins.line}"
    y = _y(at)
    return (
        f'<g><title>{escape(tip)}</title><rect x="{_LEFT}" y="{y}" width="{_BOX}" height="{_ROW - 8}" '
        f'rx="4" fill="{_COLOURS[_family(ins)]}" stroke="#888"/>'
        f'<text x="{_LEFT + 6}" y="{y + 15}">{escape(label[:38])}</text></g>'
    )


def _family(ins: Instruction) -> str:
    if ins.is_view:
        return "view"
    if ins.is_random:
        return "random"
    if ins.name.endswith("_update"):
        return "update"
    if ins.name.startswith(_PRODUCTS):
        return "product"
    same = ins.outputs and all(s.shape == ins.outputs[0].shape for s in ins.reads)
    return "pointwise" if same else "other"


def _arrows(program: Program) -> list[str]:
    """A curve from the maker of each value to its readers, on the left."""
    maker: dict[int, int] = {}
    found = []
    for at, ins in enumerate(program.instructions):
        for s in ins.reads:
            start = maker.get(s.number)
            if start is not None and start < at - 1:
                a, b = _y(start) + 11, _y(at) + 11
                bend = max(2, _LEFT - 4 - (at - start))
                found.append(
                    f'<path d="M{_LEFT},{a} C{bend},{a} {bend},{b} {_LEFT},{b}" fill="none" '
                    'stroke="#aaa"/>'
                )
        for s in ins.outputs:
            maker[s.number] = at
    return found


def _lanes(spans: dict[int, tuple[int, int]]) -> dict[int, int]:
    """Columns for the bars of lifetimes, so that none cover each other."""
    ends: list[int] = []
    lanes: dict[int, int] = {}
    for number, (first, last) in sorted(spans.items(), key=lambda item: item[1]):
        free = next((i for i, end in enumerate(ends) if end < first), len(ends))
        if free == len(ends):
            ends.append(last)
        else:
            ends[free] = last
        lanes[number] = free
    return lanes


def _bars(program: Program, spans: dict[int, tuple[int, int]], lanes: dict[int, int]) -> list[str]:
    sizes = {s.number: s.nbytes for s in program.storages if s.kind == MADE}
    largest = max(sizes.values(), default=1)
    found = []
    for number, (first, last) in spans.items():
        x = _LEFT + _BOX + 20 + lanes[number] * (_BAR + 3)
        y, end = _y(first) + 4, min(_y(last) + 14, _y(len(program)))
        shade = 0.15 + 0.85 * sizes[number] / largest
        found.append(
            f"<g><title>{readable(sizes[number])}, instructions {first} to {last}</title>"
            f'<rect x="{x}" y="{y}" width="{_BAR}" height="{max(end - y, 4)}" fill="#2b6cb0" '
            f'fill-opacity="{shade:.2f}"/></g>'
        )
    return found
