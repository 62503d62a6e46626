"""Tensors in notebooks: kind, shape and device in a line, then the values, as a table where they are rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import html
from ...base.spelling import home_of
from . import printing

if TYPE_CHECKING:
    from ..tensor import Tensor

_MOST = 12  # rows and columns of a table; longer ones show both ends
_ENDS = 5


def tensor_html(t: Tensor) -> str:
    """What `_repr_html_` of a tensor answers; what is no table, and users' own classes, are shown as `repr` prints them."""
    facts = [f"{type(t).__name__} {t.dtype} {list(t.shape)} on {t.device}"]
    if t.grad_fn is not None:
        facts.append(f"made by {t.grad_fn.name()}")
    elif t.requires_grad:
        facts.append("requires_grad")
    above = html.heading(", ".join(facts))
    own = (
        home_of(type(t)).partition(".")[0] != __name__.partition(".")[0]
        and type(t).__name__ != "Tensor"
    )
    if own or t.is_meta or t.ndim not in (1, 2) or not t.numel():
        return above + html.plain(repr(t))
    values = t._host()
    return above + _grid(values if t.ndim == 2 else values[None])


def _grid(values: Any) -> str:
    down, across = (_kept(n) for n in values.shape)
    head = ["", *(_place(i) for i in across)]
    rows = [[_place(i), *(_cell(values, i, j) for j in across)] for i in down]
    return html.table(head, rows, range(len(head)))


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
