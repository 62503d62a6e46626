"""Masks: how they are made to fit, and what stands in the places they leave out."""

from __future__ import annotations

from math import inf, nan
from typing import Any

from ..base import dtypes
from ..base.errors import NotYet
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from .tensors import is_masked_tensor, with_filled_gaps

_LOWEST = ("amax", "argmax", "logaddexp", "logsumexp")
_HIGHEST = ("amin", "argmin")


def _neutral(name: str, x: Tensor, order: Any) -> Any:
    """The value that does not change the result of a reduction, or None if there is none."""
    floating = x.dtype.is_floating_point
    if name in ("sum", "cumsum"):
        return 0
    if name in ("prod", "cumprod"):
        return 1
    if name == "norm":
        if order == -inf and not floating:
            raise AssertionError(f"input must be floating point, got {x.dtype}")
        return inf if order == -inf else 0
    if name == "median":
        return nan
    if name not in (*_LOWEST, *_HIGHEST):
        return None
    low = name in _LOWEST
    if floating or (x.dtype.is_complex and name == "logsumexp"):
        return -inf if low else inf
    if x.dtype.is_complex or x.dtype is dtypes.bool_:
        return None
    limits = dtypes.iinfo(x.dtype)
    return limits.min if low else limits.max


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The neutral element of a reduction, as a tensor without dimensions."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    value = _neutral(name, input, args[0] if args else 2)
    if value is None:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    dtype = input.dtype
    if name == "median" and not dtype.is_floating_point:
        dtype = dtypes.float32
    return NAMESPACES["torch"]["tensor"](value, dtype=dtype, device=input.device)


def _input_mask(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The mask in the shape of the input, of booleans."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    strided_only(input, mask)
    if mask.shape != input.shape:
        if mask.ndim > input.ndim:
            raise IndexError(
                "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
            )
        mask = mask.clone().broadcast_to(input.shape)
    return mask.to(dtypes.bool_)


def strided_only(*tensors: Any) -> None:
    """Refuse sparse tensors, which PyTorch reduces over their entries."""
    if any(t.is_sparse for t in tensors):
        raise NotYet("masked: rushlight reduces strided tensors only. Call to_dense() first.")


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Tensor:
    """The input, with the neutral element of `op` where the mask is False."""
    name = op if isinstance(op, str) else op.__name__
    if is_masked_tensor(input):
        return with_filled_gaps(input, _reduction_identity(name, input.get_data(), *args))
    strided_only(input)
    if mask is None:
        return input
    inside = _input_mask(input, mask=mask)
    return NAMESPACES["torch"]["where"](inside, input, _reduction_identity(name, input, *args))


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions in order, counted from the front; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})"
            )
        found.append(d % ndim)
    return tuple(sorted(found))


_REDUCTIONS = (
    "sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp",
)  # fmt: skip
_SAME_SHAPE = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")


def _output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of a result come from at least one element that the mask lets through."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in _SAME_SHAPE:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(
            f"_output_mask expected masked operation (got callable {op.__module__}.{name})"
        )
    rest = args[1:] if name == "norm" else args
    found = _input_mask(input, *args, **kwargs)
    for d in reversed(_canonical_dim(rest[0] if rest else kwargs.get("dim"), input.ndim)):
        found = found.any(dim=d, keepdim=bool(kwargs.get("keepdim", False)))
    return found
