"""Tensors in notebooks: kind, shape and device, how values are spread, then the values: a picture, a table, or as printed.

Only what is shown is read: the ends of a table, a sample for the bars, the pixels of a picture.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import dtypes, html, png
from ...base.spelling import home_of
from . import printing

if TYPE_CHECKING:
    from ..tensor import Tensor

_MOST = 12  # rows and columns of a table; longer ones show both ends
_ENDS = 5
_SAMPLE = 4096  # values that the bars are drawn from, at most
_LARGEST = 512  # pixels of a picture, in each direction
_SHOWN = 140  # how wide small pictures are shown


def tensor_html(t: Tensor) -> str:
    """What `_repr_html_` of a tensor answers; what is no table, and users' own classes, are shown as `repr` prints them."""
    facts = [f"{type(t).__name__} {t.dtype} {list(t.shape)} on {t.device}"]
    if t.grad_fn is not None:
        facts.append(f"made by {t.grad_fn.name()}")
    elif t.requires_grad:
        facts.append("requires_grad")
    above = html.heading(", ".join(facts))
    own = home_of(type(t)).partition(".")[0] != __name__.partition(".")[0] and type(t).__name__ != "Tensor"
    if own or t.is_meta or not t.numel():
        return above + html.plain(repr(t))
    pixels = _pixels(t)
    if pixels is not None:
        return above + html.picture(png.address(pixels), max(pixels.shape[1], _SHOWN))
    if t.ndim not in (1, 2):
        return above + (_spread(t.detach()) if t.ndim else "") + html.plain(repr(t))
    at = t.detach()
    if t.ndim == 1:
        at = at[None]
    return above + _spread(at) + _grid(at)


def _pixels(t: Tensor) -> np.ndarray | None:
    """Height, width and channels as bytes if a tensor looks like a picture: bytes, or numbers from 0 to 1."""
    channels = t.shape[0] if t.ndim == 3 else 1 if t.dtype == dtypes.uint8 and t.ndim == 2 else 0
    if channels not in (1, 3, 4) or min(t.shape[-2:]) < 8 or t.dtype not in (dtypes.uint8, dtypes.float32):
        return None
    steps = [slice(None, None, -(-n // _LARGEST)) for n in t.shape[-2:]]
    values = t.detach()[(..., *steps)]._host()
    if values.dtype != np.uint8:
        if not (values.min() >= 0 and values.max() <= 1):
            return None
        values = np.rint(values * 255).astype(np.uint8)
    return values if t.ndim == 2 else np.moveaxis(values, 0, -1)


def _spread(t: Tensor) -> str:
    """Least, mean and largest value with bars, of floating numbers that a table does not show all of."""
    if not t.is_floating_point() or t.numel() <= _MOST * _MOST:
        return ""
    steps, counts = [1] * t.ndim, list(t.shape)
    while math.prod(counts) > _SAMPLE:
        i = counts.index(max(counts))
        steps[i] *= 2
        counts[i] = -(-t.shape[i] // steps[i])
    values = t[tuple([slice(None, None, step) for step in steps])]._host()
    values = values.astype(np.float64).ravel()
    fine = values[np.isfinite(values)]
    if not fine.size:
        return html.heading("no finite values")
    told = f"min {fine.min():.4g}, mean {fine.mean():.4g}, max {fine.max():.4g}"
    if values.size < t.numel():
        told = f"in a sample of {values.size} values: {told}"
    if fine.size < values.size:
        told += f"; {values.size - fine.size} are not finite"
    heights, _ = np.histogram(fine, 40)
    return html.heading(told) + html.bars(heights.tolist(), told)


def _grid(t: Tensor) -> str:
    down, across = (_kept(n) for n in t.shape)
    pieces = [[t[rows, columns]._host() for columns in _ends(across)] for rows in _ends(down)]
    values, head = np.block(pieces), ["", *(_place(i) for i in across)]
    columns = _numbered(across)
    rows = [[_place(i), *(_cell(values, row, column) for column in columns)] for i, row in zip(down, _numbered(down))]
    return html.table(head, rows, range(len(head)))


def _numbered(kept: list[int | None]) -> list[int | None]:
    """Where the places that are shown lie in what was read."""
    numbers = iter(range(len(kept)))
    return [None if i is None else next(numbers) for i in kept]


def _ends(kept: list[int | None]) -> list[slice]:
    """The parts of a dim that are read."""
    return [slice(None, _ENDS), slice(-_ENDS, None)] if None in kept else [slice(None)]


def _kept(count: int) -> list[int | None]:
    """The places that are shown; None stands for those between the ends."""
    if count <= _MOST:
        return list(range(count))
    return [*range(_ENDS), None, *range(count - _ENDS, count)]


def _place(i: int | None) -> str:
    return "…" if i is None else str(i)


def _cell(values: Any, i: int | None, j: int | None) -> str:
    if i is None or j is None:
        return "…"
    value = values[i, j]
    if value.dtype.kind in "biu":
        return str(value)
    digits = printing.get_printoptions()["precision"]
    return format(complex(value) if value.dtype.kind == "c" else float(value), f".{digits}g")
