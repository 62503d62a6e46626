"""The kernel that a pass makes of attention's derivative and the joining of its three gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import Part, join

if TYPE_CHECKING:
    from ...base.protocols import Array

_GRAD = "attention_grad"


def _rows(g: Array) -> Any:
    """[N, heads, L, size] -> [N, L, E]."""
    batch, heads, length, size = g.shape
    return g.swapaxes(1, 2).reshape(batch, length, heads * size)


def _by(part: Part, *arrays: Array, order: tuple[int, ...], **attrs: Any) -> Any:
    grads = part(_GRAD, *arrays, **attrs)
    return part("cat", *[_rows(grads[i]) for i in order], dim=2)


def _fit(part: Part, arrays: list, attrs: dict) -> list:
    """The forward result is made anew, to fit the numbers of q, k and v."""
    how = {k: v for k, v in attrs.items() if k != "order"}
    return [*arrays[:4], *part("attention", *arrays[1:4], **how)]


# (gy, q, k, v, out, stats) -> the gradients of q, k and v (in `order`) beside each other, as a linear layer made them.
ATTENTION_GRAD_CAT = join("attention_grad_cat", _by, _fit)
