"""A program as a table to read: instructions, shapes, lifetimes and bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...base import html
from .slots import MADE, Slot

if TYPE_CHECKING:
    from .instructions import Program

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
        f"moves {_bytes(program.bytes_moved())}, at least {_bytes(program.least_bytes())}; "
        f"makes {_bytes(made)}",
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
            f"  {_bytes(storage.nbytes)}  {s.name} {_kind(s)} by {ins.name} at {i}, "
            f"{os.path.basename(ins.line)}"
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
