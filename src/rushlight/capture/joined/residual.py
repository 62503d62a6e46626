"""Kernels that passes make of a layer or root-mean-square norm, the residual sum and the casts around it, and of its derivative.

Autocast puts casts around norms: the mixed kernels read and write halves, and compute and keep float32.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...base.dtypes import from_np
from .parts import Part, join

if TYPE_CHECKING:
    import numpy as np

    from ...base.dtypes import dtype
    from ...base.protocols import Array


def _cast(part: Part, x: Array | None, to: dtype | np.dtype) -> Any:
    """x in a dtype (as NumPy or as users name it), itself where it has that already."""
    to = getattr(to, "np", to)
    if x is None or x.dtype == to:
        return x
    return part("cast", x, to=from_np(to), source=from_np(x.dtype))


def _forward(
    norm: str,
    part: Part,
    x: Array,
    other: Array | None,
    *affine: Array | None,
    to: dtype | None = None,
    **attrs: Any,
) -> tuple:
    """The norm of x + other, its statistics, and the sum where there is one."""
    total = x if other is None else part("add", x, _cast(part, other, x.dtype))
    y, *statistics = part(norm, total, *affine, **attrs)
    made = (_cast(part, y, to or x.dtype), *statistics)
    return made if other is None else (*made, total)


def _backward(norm: str, part: Part, *arrays: Any, also: bool = False, **attrs: Any) -> tuple:
    """Gradients of x, with another one added, and of weight and bias; `also`, behind them, that of x in g's dtype."""
    g, x, *rest, more = arrays
    gx, *grads = part(f"{norm}_grad", _cast(part, g, x.dtype), x, *rest, **attrs)
    gx = gx if more is None else part("add", gx, more)
    return (gx, *grads, _cast(part, gx, g.dtype)) if also else (gx, *grads)


def _summed(norm: str, part: Part, *arrays: Any, **attrs: Any) -> tuple:
    """The same with `also`, and behind that its sums over all dims but the last."""
    made = _backward(norm, part, *arrays, also=True, **attrs)
    return (*made, part("sum", made[-1], dim=tuple(range(made[-1].ndim - 1)), keepdim=False))


def _fit(norm: str, part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    g, x, weight = arrays[:3]
    affine = (weight, None) if norm == "layer_norm" else (weight,)
    how = {k: v for k, v in attrs.items() if k != "also"}
    return [g, x, weight, *part(norm, x, *affine, **how)[1:], arrays[-1]]


def _norms(name: str) -> dict[str, Any]:
    return {n: join(name.format(n), partial(_forward, n)) for n in ("layer_norm", "rms_norm")}


def _grads(name: str, by: Any = _backward) -> dict[str, Any]:
    kinds = ("layer_norm", "rms_norm")
    return {n: join(name.format(n), partial(by, n), partial(_fit, n)) for n in kinds}


# (x, other, weight, bias) -> result, statistics, x + other; the root-mean-square norm has neither bias nor mean.
ADD_NORMS = _norms("add_{}")
# The same with `to`, the dtype of the result; other, if any, may have another dtype.
MIXED_NORMS = _norms("{}_mixed")
# (g, x, weight, statistics, another gradient of x) -> gradients of x and of the weight and bias.
NORM_GRADS_ADD = {f"{norm}_grad": made for norm, made in _grads("{}_grad_add").items()}
MIXED_GRADS = _grads("{}_grad_mixed")  # of a g that may have another dtype
SUMMED_GRADS = _grads("{}_grad_summed", _summed)  # in halves, too, with the sums of these
