"""What all losses share: the reduction, its legacy flags, and how a kernel applies it."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...core.tensor import Tensor
from ...runtime.facts import REDUCTIONS


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: Any) -> str:
    """`reduction`, or what the two old flags mean."""
    if size_average is None and reduce is None:
        if reduction.__class__ is int:  # functions of the top namespace take numbers
            return REDUCTIONS[reduction]
        if reduction not in REDUCTIONS:
            raise ValueError(f"{reduction} is not a valid value for reduction")
        return reduction
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    ret = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{ret}' instead.", stacklevel=4
    )
    return ret


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean of the losses, their sum, or the losses."""
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


def reduce_body(xp: ArrayModule, loss: Array, reduction: str) -> Any:
    """As `reduced`, inside a kernel."""
    if reduction == "mean":
        return loss.sum(dtype=loss.dtype) / loss.dtype.type(loss.size)
    return loss.sum(dtype=loss.dtype) if reduction == "sum" else loss


def loss_meta(x: Any, y: Any, *, reduction: str, **attrs: Any) -> tuple:
    return (x.shape if reduction == "none" else ()), x.dtype
