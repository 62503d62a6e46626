"""`torch.nn._reduction`: how a loss puts its elements together, in its older spellings."""

from __future__ import annotations

import warnings

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number that PyTorch's operators have for a reduction."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
    return _NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the two older switches mean."""
    mean, single = size_average in (None, True), reduce in (None, True)
    name = "none" if not single else "mean" if mean else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=2
        )
    return name


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """Its number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
