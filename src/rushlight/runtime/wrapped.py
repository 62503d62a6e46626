"""Tensors that are made of other tensors: an array without memory, whose kernels a class of the user's computes.

`Tensor._make_wrapper_subclass` makes one. What has such an array is asked by its class's `__torch_dispatch__` for every
kernel; `_aten/classes.py` does that, and fills in `answer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import KernelBody, KernelLike
from ..base.device import device
from ..base.shapes import strided_view
from . import devices
from .meta_array import MetaArray


class WrappedArray(MetaArray):
    """A shape, a dtype and a device that somebody's class says it has.

    `kind` and `parts` are the class and the attributes of the tensor it belongs to. `fresh` is that tensor itself on its
    way out of the class's function, so that callers get the very object it returned.
    """

    __slots__ = ("fresh", "kind", "parts", "place")

    def __init__(self, ghost: np.ndarray, place: device, kind: type, parts: dict[str, Any]) -> None:
        super().__init__(ghost)
        self.place, self.kind, self.parts = place, kind, parts
        self.fresh: Any = None

    @classmethod
    def shaped(cls, shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: Any, place: device) -> WrappedArray:
        """One that belongs to no tensor yet; strides count elements."""
        ghost = MetaArray.of(shape, dtype).ghost
        if strides is not None:
            item = np.dtype(dtype).itemsize
            steps = tuple([s * item for s in strides])
            ghost = strided_view(np, np.empty((), dtype), shape, steps)
        return cls(ghost, place, object, {})

    def for_another(self, parts: dict[str, Any]) -> WrappedArray:
        """The same for a tensor of its own."""
        return WrappedArray(self.ghost, self.place, self.kind, parts)


# Arrays without memory of their own: what they are made of passes the door by itself.
MADE_OF_OTHERS: set[type] = {WrappedArray}


class WrappedAnswer:
    """What `_aten` fills in: (kernel, arrays, attributes) -> the kernel's results, by the arrays' classes."""

    active = False  # such an array has been made
    overwrite: Any  # (array, source array): the second half of an in-place operation
    load: Any  # imports `_aten/classes.py`; the top package fills it in
    by_classes: Any
    of_tensor: Any  # (name of the operator, tensor) -> the tensor that its class answers


answer = WrappedAnswer()


class WrappedBackend(devices.OverOthers):
    """Binds every kernel to a question to the arrays' classes. It has no memory, and no name users could give."""

    type = "wrapped"
    array_type = WrappedArray

    def bind(self, kernel: KernelLike) -> KernelBody:
        return lambda *arrays, **attrs: answer.by_classes(kernel, arrays, attrs)

    def to_host(self, a: WrappedArray) -> np.ndarray:
        raise RuntimeError(f"a {a.kind.__name__} has no memory of its own: its class says what its values are")


def open_wrapped() -> None:
    """Let devices know such arrays: when the first is made."""
    devices.register_type(WrappedBackend())
    answer.load()
    answer.active = True
