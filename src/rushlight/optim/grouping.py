"""How optimisers written elsewhere sort tensors before they call `_foreach_*` functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor

TensorListList = list[list[Tensor | None]]
Indices = list[int]
_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Where lists of tensors are worked on in few launches, so that optimisers choose that unasked."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """Where a whole update is one kernel."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(
    tensorlistlist: Sequence[Sequence[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Columns of lists, gathered by device and dtype of the first list: (lists, places of the columns)."""
    if not tensorlistlist or not tensorlistlist[0]:
        return {}
    first = tensorlistlist[0]
    if any(rest and len(rest) != len(first) for rest in tensorlistlist):
        raise RuntimeError("Tensors of the same index must be on the same device and dtype")
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for place, t in enumerate(first):
        lists, places = groups.setdefault((t.device, t.dtype), ([[] for _ in tensorlistlist], []))
        for kept, given in zip(lists, tensorlistlist):
            if given:
                kept.append(given[place])
        if with_indices:
            places.append(place)
    return groups


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: Sequence[Any], device: Any) -> bool:
    """Whether all of them can be given to `_foreach_*` functions: plain tensors, or None."""
    plain = all(t is None or type(t) in _foreach_supported_types for t in tensors)
    return plain and _device_has_foreach_support(device)
