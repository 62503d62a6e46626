"""Counts and numbers in sentences: 1 picture, 2,000 pictures, 372,900."""

from __future__ import annotations


def counted(count: float, one: str, many: str | None = None) -> str:
    """A count with its noun, in the singular where it is 1; `many` where an s is not enough."""
    shown = f"{count:,}" if isinstance(count, int) else f"{count:,.10g}"
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def plain(value: float) -> str:
    """A number with four digits that count; thousands and millions are written out."""
    return f"{float(f'{value:.4g}'):,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"
