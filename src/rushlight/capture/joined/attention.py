"""The kernel that a pass makes of attention's derivative and the joining of its three gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS

_GRAD = "attention_grad"


def _rows(g: Any) -> Any:
    """[N, heads, L, size] -> [N, L, E]."""
    batch, heads, length, size = g.shape
    return g.swapaxes(1, 2).reshape(batch, length, heads * size)


def _body(xp: Any, *arrays: Any, order: tuple[int, ...], **attrs: Any) -> Any:
    grads = KERNELS[_GRAD].generic(xp, *arrays, **attrs)
    return xp.concatenate([_rows(grads[i]) for i in order], axis=2)


def _by_parts(part: Callable[..., Any], arrays: list, attrs: dict) -> tuple[list, Any]:
    """The forward result is made anew, to fit the numbers of q, k and v."""
    how = {k: v for k, v in attrs.items() if k != "order"}
    given = [*arrays[:4], *part("attention", *arrays[1:4], **how)]
    grads = part(_GRAD, *given, **how)
    return given, part("cat", *[_rows(grads[i]) for i in attrs["order"]], dim=2)


# (gy, q, k, v, out, stats) -> the gradients of q, k and v (in `order`) beside each other, as a linear layer made them.
ATTENTION_GRAD_CAT = Kernel("attention_grad_cat", _body)
PARTS["attention_grad_cat"] = _by_parts
