"""Quantiles of a sample: quantile and nanquantile, with five ways to interpolate."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...base.shapes import wrap_dim
from ...core.public import into_same, public, row_major
from ...core.tensor import Tensor
from ..made_of.checks import between_zero_and_one, check_values
from ..made_of.spelling import numpy_names
from ..shape.expand import _expand
from ..shape.reshape import reshape

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(name: str, x: Tensor, q: Any, interpolation: str) -> Tensor:
    """The wanted quantiles as a tensor, after PyTorch's checks."""
    if not x._a.size:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return x.new_full((), q)
    if q._a.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not x.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    check_values(between_zero_and_one, q, f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(name: str, x: Tensor, q: Any, dim: Any, keepdim: bool, how: str, out: Any) -> Tensor:
    q = _check_quantile(name, x, q, how)
    ndim = x._a.ndim
    rest = None if dim is None else wrap_dim(dim, ndim)
    flat = reshape(x, (-1,)) if rest is None or not ndim else x.movedim(rest, -1)
    ordered = flat.sort(-1)[0]
    n = flat._a.shape[-1]
    sizes = (*flat._a.shape[:-1], q._a.size)
    valid = (flat == flat).sum(-1, keepdim=True)
    if name == "nanquantile":
        ranks = (reshape(q, (-1,)) * (valid - 1)).clamp(min=0)
    else:
        ranks = _expand(reshape(q, (-1,)) * (n - 1), shape=sizes).masked_fill(valid < n, n - 1)
    result = _between_ranks(ordered, ranks, how)  # (..., q)
    result = result.squeeze(-1) if not q._a.ndim else result.movedim(-1, 0)
    if keepdim:
        lead = q._a.shape
        ones = (1,) * ndim if rest is None else x._a.shape[:rest] + (1,) + x._a.shape[rest + 1 :]
        result = reshape(result, (*lead, *(ones if ndim else ())))
    return into_same(out, row_major(out, result))


def _between_ranks(ordered: Tensor, ranks: Tensor, how: str) -> Tensor:
    rounding = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}
    if how in rounding:
        return ordered.gather(-1, rounding[how]().long())
    floor = ranks.floor()
    low = ordered.gather(-1, floor.long())
    high = ordered.gather(-1, ranks.ceil().long())
    weight = 0.5 if how == "midpoint" else ranks - floor
    return low.lerp(high, weight)


def _define(name: str, what: str, part: str, interpolation: str, example: str) -> None:
    """`quantile` or `nanquantile`."""

    def between(
        input: Tensor,
        q: Any,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Any = None,
    ) -> Tensor:
        return _quantile(name, input, q, dim, keepdim, interpolation, out)

    between.__name__ = between.__qualname__ = name
    between.__doc__ = f"""{what}

    Args:
        q: the part, from 0 to 1; {part}.
        dim: the dimension; all of them if not given.
        keepdim: keep the dimension with size 1.
        interpolation: {interpolation}

    Example:
        >>> {example}
    """
    public()(numpy_names(between))


_define(
    "quantile", "The value below which a part of the elements lies, along a dimension or of all.",
    "a number or a vector, for which a first dimension is added",
    """"linear", "lower", "higher", "midpoint" or "nearest": what lies between
            two elements.""",
    "torch.tensor([1.0, 2.0, 3.0, 4.0]).quantile(0.5)\n        tensor(2.5000)",
)  # fmt: skip
_define(
    "nanquantile", "As `quantile`, of the elements that are not nan.", "a number or a vector", "as for `quantile`.",
    "torch.tensor([1.0, torch.nan, 3.0]).nanquantile(0.5)\n        tensor(2.)",
)  # fmt: skip
