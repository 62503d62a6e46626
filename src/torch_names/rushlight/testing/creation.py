"""make_tensor: random tensors of any dtype to try functions on."""

from __future__ import annotations

import math
from typing import Any

from ..base import dtypes
from ..base.dtypes import as_dtype, finfo, iinfo
from ..core.tensor import Tensor
from ..operators.create.filled import empty, zeros


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Numbers uniform on [low, high), by default [-9, 9) (integers up to 9, unsigned ones from 0).

    Args:
        shape: sizes, or one tuple of them.
        dtype, device: have to be given.
        low, high: the limits.
        requires_grad: whether gradients are recorded for it.
        noncontiguous: make one whose elements do not lie side by side.
        exclude_zero: replace zeros by the smallest number above.
        memory_format: such as `torch.channels_last`.

    Raises:
        ValueError: if the limits are not numbers of the dtype, or options exclude each other.

    Example:
        >>> t = torch.testing.make_tensor((2, 3), dtype=torch.float32, device="cpu", low=0, high=1)
        >>> t.shape, bool((t >= 0).all() and (t < 1).all())
        (torch.Size([2, 3]), True)
    """
    size = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    d = as_dtype(dtype)
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    if requires_grad and d.category < dtypes.FLOATING:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={d}")
    low, high = _bounds(low, high, d)
    spread = (*size[:-1], size[-1] * 2) if noncontiguous and size else size
    t = _filled(spread, d, device, low, high)
    if noncontiguous and size:
        t = t[..., 1::2]
    if exclude_zero:
        t[t == 0] = 1 if d.category < dtypes.FLOATING else finfo(d).tiny
    if memory_format is not None:
        t = t.contiguous(memory_format=memory_format)
    return t.requires_grad_() if requires_grad else t


def _bounds(low: Any, high: Any, d: Any) -> tuple[Any, Any]:
    if d.category == dtypes.BOOL:
        default: tuple[Any, Any] = (0, 2)
    elif d.category == dtypes.INTEGRAL:
        default = (-9 if d.is_signed else 0, 10)
    else:
        default = (-9, 9)
    low, high = (default[0] if low is None else low), (default[1] if high is None else high)
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if d.category < dtypes.FLOATING:
        limits = (0, 1) if d.category == dtypes.BOOL else (iinfo(d).min, iinfo(d).max)
        return max(math.floor(low), limits[0]), min(math.ceil(high), limits[1] + 1)
    top = finfo(d).max
    return max(low, -top), min(high, top)


def _filled(size: tuple, d: Any, device: Any, low: Any, high: Any) -> Tensor:
    if d.category < dtypes.FLOATING:
        t = zeros(size, dtype=d, device=device)
        return t.random_(low, high)
    if d.category == dtypes.COMPLEX:
        from ..operators.pointwise.complex import view_as_complex

        return view_as_complex(_filled((*size, 2), d.to_real(), device, low, high))
    return empty(size, dtype=d, device=device).uniform_(low, high)
