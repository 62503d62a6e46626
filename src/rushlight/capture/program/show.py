"""A program as a table and as a picture."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base import html
from .slots import MADE, Slot

if TYPE_CHECKING:
    from .instructions import Instruction, Program

_NAMED = 5  # buffers named at the peak
_HEAD = ("#", "result", "kernel", "operands", "options", "bytes", "lives", "line")


def table(program: Program) -> str:
    """One row per instruction; below it, what moves and what the passes did."""
    rows = [_HEAD, *_rows(program)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows]
    return "\n".join([*lines, "", *_summary(program)])


def html_table(program: Program) -> str:
    """The same for notebooks."""
    return html.table(_HEAD, _rows(program), (0, 5)) + html.plain("\n".join(_summary(program)))


def compiled_html(function: str, programs: list[Program], why: str | None) -> str:
    """A compiled function for notebooks: its programs, why it has none or several, and the newest one."""
    count = len(programs)
    about = f"compiled {function}: {count} program{'' if count == 1 else 's'}"
    if why:
        about += f"; runs eagerly or in parts: {why}"
    elif not count:
        about += ", its first calls are recorded"
    return html.heading(about) + (html_table(programs[-1]) if programs else "")


def _rows(program: Program) -> list[tuple[str, ...]]:
    spans = program.lifetimes()
    rows: list[tuple[str, ...]] = []
    for at, ins in enumerate(program.instructions):
        result = ", ".join(f"{s.name} {_kind(s)}" for s in ins.outputs) or ", ".join(
            f"{s.name}!" for s in ins.writes[:3]
        )
        result = _cut(result, 80)
        size = 0 if ins.is_view else sum(s.nbytes for s in (*ins.reads, *ins.outputs))
        rows.append(
            (
                str(at), result, ins.name + (" (view)" if ins.is_view else ""),
                _cut(", ".join(_operand(i) for i in ins.inputs), 48),
                _cut(", ".join(f"{k}={_value(v)}" for k, v in ins.attrs.items()), 40),
                _bytes(size), _life(ins.outputs, spans), os.path.basename(ins.line),
            )
        )  # fmt: skip
    return rows


def _summary(program: Program) -> list[str]:
    made = sum(s.nbytes for s in program.storages if s.kind == MADE)
    passes = ", ".join(f"{name} {n}" for name, n in program.history)
    return [
        f"{len(program)} instructions on {program.device} ({passes})",
        f"moves {_bytes(program.bytes_moved())}, at least {_bytes(program.least_bytes())}; makes {_bytes(made)}",
        *_memory(program),
    ]


def _memory(program: Program) -> list[str]:
    """The most that is alive at once, and the largest buffers of that moment."""
    most, at, alive = program.peak()
    if not alive:
        return []
    where = program.instructions[min(at, len(program) - 1)]
    arena = "" if program.arena_bytes is None else f", in {_bytes(program.arena_bytes)} of memory"
    lines = [f"at most {_bytes(most)} alive at once, at {at} ({where.name}){arena}; the largest:"]
    makers = {
        s.storage.number: (i, ins, s)
        for i, ins in reversed(list(enumerate(program.instructions)))
        for s in ins.outputs
        if not ins.is_view
    }
    for storage in alive[:_NAMED]:
        i, ins, s = makers[storage.number]
        lines.append(
            f"  {_bytes(storage.nbytes)}  {s.name} {_kind(s)} by {ins.name} at {i}, {os.path.basename(ins.line)}"
        )
    return lines


def _kind(s: Slot) -> str:
    return f"{s.dtype}{list(s.shape)}"


def _operand(i: Any) -> str:
    if i.__class__ is not Slot:
        return _value(i)
    return f"{i.name}" if i.storage.kind == MADE else f"{i.name}({i.storage.label or 'constant'})"


def _value(v: Any) -> str:
    text = repr(v)
    return text if len(text) <= 24 else text[:21] + "..."


def _cut(text: str, n: int) -> str:
    return text if len(text) <= n else text[: n - 3] + "..."


def _life(slots: tuple[Slot, ...], spans: dict[int, tuple[int, int]]) -> str:
    found = [spans[s.storage.number] for s in slots if s.storage.number in spans]
    return f"{found[0][0]}-{found[0][1]}" if found else ""


def _bytes(n: int) -> str:
    for unit in ("B", "KB", "MB"):
        if n < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024  # type: ignore[assignment]
    return f"{n:.2f} GB"


_ROW, _BOX, _LEFT, _BAR = 30, 250, 24, 5
_COLOURS = {
    "view": "#e8e8e8", "product": "#cfe3ff", "pointwise": "#d9f2d0", "update": "#ffe0b3",
    "random": "#ead6ff", "other": "#fff6cc",
}  # fmt: skip


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
        f"{len(program)} instructions on {program.device}, moving {_bytes(program.bytes_moved())} "
        f"(at least {_bytes(program.least_bytes())})"
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
    if ins.kernel.facts.is_of("product", "convolution", "attention"):
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
                found.append(f'<path d="M{_LEFT},{a} C{bend},{a} {bend},{b} {_LEFT},{b}" fill="none" stroke="#aaa"/>')
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
            f"<g><title>{_bytes(sizes[number])}, instructions {first} to {last}</title>"
            f'<rect x="{x}" y="{y}" width="{_BAR}" height="{max(end - y, 4)}" fill="#2b6cb0" '
            f'fill-opacity="{shade:.2f}"/></g>'
        )
    return found
