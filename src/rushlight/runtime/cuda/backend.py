"""The CUDA backend: CuPy bodies for every kernel, with our own kernels in front of them."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ...base.arrays import DeviceArray, KernelBody, KernelLike, RandomStream
from ...base.config import settings
from ...base.device import device
from .. import devices
from . import processors
from .arrays import CUPY
from .code import compile, usual
from .code.traced import in_one_kernel
from .memory import host_copies as transfer
from .memory import pool as memory
from .memory.lost import explaining

# Every file that registers kernels of its own; those of other families join when they are there.
_FAMILIES = (
    "fills", "casts", "pointwise", "reduce", "indexing", "counting", "draws", "scaling", "products",
    "prepared_products", "update", "batches", "foreach", "layers.conv", "layers.pool", "layers.softmax",
    "layers.cross_entropy", "layers.layer_norm", "layers.batch_norm", "layers.embedding",
    "layers.attention", "layers.recurrent", "layers.recurrent_steps", "layers.rotary",
    "layers.group_norm", "layers.grid_sample", "layers.gates",
    "sorting", "scans", "patterns", "matrices", "fourier", "layers.ctc", "layers.resample", "layers.windows",
)  # fmt: skip


class CudaBackend:
    """Arrays are `cupy.ndarray`."""

    type = "cuda"
    array_type = cupy.ndarray
    xp: Any = CUPY

    def __init__(self) -> None:
        self.owner = os.getpid()  # a driver does not survive a fork
        self._count = runtime.getDeviceCount()
        self._devices = tuple([device("cuda", i) for i in range(self._count)])
        self._streams: dict[int, RandomStream] = {}
        processors.ask(
            runtime.getDevice if self._count > 1 else lambda: 0,
            lambda index: runtime.getDeviceProperties(index)["multiProcessorCount"],
        )
        memory.install()
        package = __name__.rpartition(".")[0] + ".bodies"
        families = {family: import_module(f"{package}.{family}") for family in _FAMILIES}
        self._bound = families["pointwise"].bound
        usual.begin(compile)
        if self._count == 1:
            only = self._devices[0]
            self.device_of = lambda a: only  # type: ignore[method-assign]

    def bind(self, kernel: KernelLike) -> KernelBody:
        own = devices.overrides("cuda").get(kernel.name)
        generic = _generic(kernel)
        point = kernel.facts.point
        told = point is not None and point.texts
        if own is None and not told and (kernel.is_view or not _is_pointwise(kernel)):
            impl = generic
        else:
            if own is None:
                own = self._bound(kernel.name, point) if told else in_one_kernel(kernel.generic)
            impl = own
            # Whoever calls it looks for NotImplemented: a function around both would cost a microsecond.
            kernel.fallbacks[cupy.ndarray] = generic if self._count == 1 else self._guarded(generic)
        return impl if self._count == 1 else self._guarded(impl)

    def _guarded(self, impl: KernelBody) -> KernelBody:
        """Run on the GPU of the first array, or of the `device` attribute, of several."""

        def guarded(*arrays: Any, **attrs: Any) -> Any:
            wanted = attrs.get("device")
            index = None if wanted is None else wanted.index
            for a in arrays:
                if a.__class__ is cupy.ndarray:
                    index = a.device.id
                    break
            if index is None or index == runtime.getDevice():
                return impl(*arrays, **attrs)
            before = runtime.getDevice()
            runtime.setDevice(index)
            try:
                return impl(*arrays, **attrs)
            finally:
                runtime.setDevice(before)

        return guarded

    def check(self, d: device) -> device:
        """The device with its number; RuntimeError when there is no such GPU."""
        if d.index is None:
            return self._devices[runtime.getDevice() if self._count > 1 else 0]
        if d.index >= self._count:
            from .device import check_index

            check_index(d.index)
        return self._devices[d.index]

    def device_of(self, a: DeviceArray) -> device:
        return self._devices[a.device.id]

    def from_host(self, a: np.ndarray, d: device, non_blocking: bool = False) -> Any:
        return transfer.to_device(a, d.index or 0, non_blocking)

    def to_host(self, a: DeviceArray) -> np.ndarray:
        return transfer.to_host(a)

    def asarray(self, value: Any, like: Any = None) -> Any:
        return value if value.__class__ is cupy.ndarray else cupy.asarray(value)

    def synchronize(self, d: device) -> None:
        with cupy.cuda.Device(d.index or 0), explaining():
            runtime.deviceSynchronize()

    def stream(self, d: device) -> Any:
        """The default random stream of a GPU."""
        index = d.index or 0
        found = self._streams.get(index)
        if found is None:
            from .bodies.stream import DrawStream

            found = self._streams[index] = DrawStream(index=index)
            if settings.seed is None:
                found.seed()
            else:
                found.manual_seed(settings.seed)
        return found

    def streams(self) -> list[RandomStream]:
        """The random streams that have been opened."""
        return list(self._streams.values())


def _is_pointwise(kernel: KernelLike) -> bool:
    return kernel.facts.point is not None or kernel.facts.vmap == "pointwise"


def _generic(kernel: KernelLike) -> KernelBody:
    """The body written for any array library, with results in the dtype the rule promises.

    CuPy widens bfloat16 in places where NumPy keeps it (a Python number as the other operand,
    `where`), so a float32 result of a bfloat16 computation is brought back.
    """
    body = partial(kernel.generic, CUPY)
    meta = kernel.meta
    if kernel.is_view or meta is None:
        return body

    def impl(*arrays: Any, **attrs: Any) -> Any:
        out = body(*arrays, **attrs)
        if out.__class__ is cupy.ndarray and out.dtype == np.float32:
            if any(a.__class__ is cupy.ndarray and a.dtype.kind == "V" for a in arrays):
                spec = meta(*arrays, **attrs)
                return out if spec.__class__ is list else out.astype(spec[1], copy=False)
        return out

    return impl
