"""Small pieces of HTML for notebooks: a heading, a table, bars, a picture, plain text; everything that comes from outside is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Colours are left to the notebook, which may be dark.
_CELL = "padding:1px 8px;text-align:{side};font-family:monospace;white-space:pre"


def heading(text: str) -> str:
    """A line above a table."""
    return f'<div style="font-family:monospace;padding-bottom:2px">{escape(text)}</div>'


def plain(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; the columns in `numbers` are set to the right."""
    sides = ["right" if i in numbers else "left" for i in range(len(head))]

    def line(kind: str, cells: Sequence[str]) -> str:
        inside = "".join(
            f'<{kind} style="{_CELL.format(side=side)}">{escape(cell)}</{kind}>' for side, cell in zip(sides, cells)
        )
        return f"<tr>{inside}</tr>"

    top = f"<thead>{line('th', head)}</thead>" if any(head) else ""
    body = "".join(line("td", row) for row in rows)
    return f"<table>{top}<tbody>{body}</tbody></table>"


def bars(shares: Sequence[float], label: str) -> str:
    """Upright bars, the highest of them as high as the picture, in the colour of the text."""
    wide, high = 240, 40
    step, most = wide / len(shares), max(shares) or 1.0
    drawn = "".join(
        f'<rect x="{i * step:.1f}" y="{high * (1 - share / most):.1f}" width="{step * 0.9:.1f}" '
        f'height="{high * share / most:.1f}"></rect>'
        for i, share in enumerate(shares)
    )
    size = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    return f'<svg {size} fill="currentColor" role="img" aria-label="{escape(label)}">{drawn}</svg>'


def picture(address: str, width: int) -> str:
    """A picture of so many pixels across, each with sharp edges."""
    return f'<div><img src="{escape(address)}" width="{width}" style="image-rendering:pixelated" alt=""></div>'
