"""The kernels that a pass makes of attention's derivative and the joining of its three gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import Part, join

if TYPE_CHECKING:
    from ...base.protocols import Array


def _rows(g: Array) -> Any:
    """[N, heads, L, size] -> [N, L, E]."""
    batch, heads, length, size = g.shape
    return g.swapaxes(1, 2).reshape(batch, length, heads * size)


def _by(name: str) -> Any:
    def by(part: Part, *arrays: Array, order: tuple[int, ...], **attrs: Any) -> Any:
        grads = part(name, *arrays, **attrs)
        return part("cat", *[_rows(grads[i]) for i in order], dim=2)

    return by


def _fit(name: str, inputs: int) -> Any:
    def fit(part: Part, arrays: list, attrs: dict) -> list:
        """The forward result is made anew, to fit the numbers of q, k and v."""
        how = {k: v for k, v in attrs.items() if k != "order"}
        return [*arrays[:inputs], *part(name, *arrays[1:inputs], **how)]

    return fit


# (gy, q, k, v, out, stats) -> the gradients of q, k and v (in `order`) beside each other, as a linear layer made them.
ATTENTION_GRAD_CAT = join("attention_grad_cat", _by("attention_grad"), _fit("attention", 4))
# (gy, q, k, v, bias, out, stats, kept) -> the same with a mask or dropout.
MASKED_GRAD_CAT = join(
    "masked_attention_grad_cat", _by("masked_attention_grad"), _fit("masked_attention", 5)
)
