"""The `meta` device: shapes, strides and dtypes without data, for rules and memory-free dry runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.arrays import KernelBody, KernelLike
from ..base.device import META, device
from ..base.errors import NoDataError
from . import devices
from .meta_array import MetaArray


class MetaBackend:
    """Runs view kernels on arrays without values, and everything else by its shape rule or by a trial on zeros."""

    type = "meta"
    array_type = MetaArray
    xp: Any = np

    def check(self, d: device) -> device:
        return META

    def device_of(self, a: MetaArray) -> device:
        return META

    def bind(self, kernel: KernelLike) -> KernelBody:
        own = devices.overrides("meta").get(kernel.name)
        if own is not None:
            return own
        if kernel.is_view:
            return lambda *arrays, **attrs: _views(kernel.generic(np, *map(_ghost, arrays), **attrs))
        meta = kernel.meta
        if meta is not None:
            return lambda *arrays, **attrs: _specs(meta(*arrays, **attrs))
        return lambda *arrays, **attrs: _trial(kernel, arrays, attrs)

    def from_host(self, a: np.ndarray, d: device) -> MetaArray:
        return MetaArray.of(a.shape, a.dtype)

    def to_host(self, a: MetaArray) -> np.ndarray:
        raise NoDataError(
            "Cannot copy out of meta tensor; no data! A meta tensor has a shape and a dtype only. "
            "Create the tensor on 'cpu' or 'cuda' to have values."
        )

    def asarray(self, value: Any, like: Any = None) -> MetaArray:
        return MetaArray.of(np.shape(value), np.asarray(value).dtype)

    def synchronize(self, d: device) -> None:
        return None

    def stream(self, d: device) -> Any:
        from .cpu import CPU_BACKEND

        return CPU_BACKEND.stream(d)


def _ghost(a: Any) -> Any:
    return a.ghost if isinstance(a, MetaArray) else a


def _views(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return tuple(MetaArray(r) for r in result)
    return MetaArray(result)


def _specs(spec: Any) -> Any:
    """A rule answers (shape, dtype), a list of such pairs for several outputs, or the array."""
    if isinstance(spec, MetaArray):  # a rule that knows the strides, too
        return spec
    return tuple(MetaArray.of(*s) for s in spec) if isinstance(spec, list) else MetaArray.of(*spec)


def _trial(kernel: KernelLike, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Learn the result's shape by running the CPU body on zeros (lazily mapped memory)."""
    from .cpu import CPU_BACKEND

    zeros = [np.zeros(a.shape, a.dtype) if isinstance(a, MetaArray) else a for a in arrays]
    out = CPU_BACKEND.bind(kernel)(*zeros, **attrs)
    if isinstance(out, (tuple, list)):
        return tuple(MetaArray.of(np.shape(o), np.asarray(o).dtype) for o in out)
    return MetaArray.of(np.shape(out), np.asarray(out).dtype)


def _host_read(a: MetaArray) -> Any:
    return devices.backend_of(META).to_host(a)


def _move(a: MetaArray, *, to: device, **attrs: Any) -> MetaArray:
    return a if to == META else _host_read(a)


devices.overrides("meta").update(host_read=_host_read, move=_move)
