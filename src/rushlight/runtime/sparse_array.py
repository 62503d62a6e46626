"""What stands where a sparse tensor would have its array: a shape, a dtype and a device, and no memory.

A sparse tensor computes with the tensors of its places and values. `operators/matrix/sparse.py`, which is loaded when the
first one is made, fills in `sparse`: what an op, and an operation in place, does where one of its arguments is sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import KernelBody, KernelLike
from ..base.device import device
from ..base.errors import NotYet
from . import devices
from .meta_array import DescribedArray


class SparseArray(DescribedArray):
    """The shape, dtype and device of a sparse tensor."""

    __slots__ = ("__weakref__", "dtype", "place", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, place: device) -> None:
        self.shape, self.dtype, self.place = shape, dtype, place

    @property
    def strides(self) -> tuple[int, ...]:
        return (0,) * len(self.shape)  # as PyTorch says

    def _no_memory(self) -> Any:
        raise NotYet("a sparse tensor has no memory of all its elements; use .to_dense() first")

    base = flags = property(_no_memory)


class SparseAnswers:
    """What `operators/matrix/sparse_kernels.py` fills in."""

    active = False  # a sparse tensor has been made
    of_op: Any  # (op, inputs, attributes) -> the result of an op with sparse inputs
    changed: Any  # (tensor, function, args, kwargs) -> the tensor, after an operation in place
    not_copied: Any  # (tensor, source) -> the error of `copy_` between a dense and a sparse one
    like: Any  # (name of a kernel that makes tensors, sparse tensor, dtype, device, attributes) -> a new one
    gradient: Any  # (leaf, what it has, what arrives) -> the leaf's new gradient

    def among(self, *values: Any) -> bool:
        """Whether one of these is a sparse tensor."""
        return any(getattr(v, "_a", None).__class__ is SparseArray for v in values)


sparse = SparseAnswers()


def refused(name: str, place: device) -> NotYet:
    """PyTorch's error for a function that sparse tensors do not have."""
    backend = "SparseCUDA" if place.type == "cuda" else "SparseCPU"
    return NotYet(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. Use .to_dense(), or "
        "._values() for the values alone."
    )


class SparseBackend(devices.OverOthers):
    """Refuses every kernel: what sparse tensors can do is decided before one is asked for."""

    type = "sparse"
    array_type = SparseArray

    def bind(self, kernel: KernelLike) -> KernelBody:
        def refuse(*arrays: Any, **attrs: Any) -> Any:
            places = [a.place for a in arrays if a.__class__ is SparseArray]
            raise refused(kernel.name, places[0])

        return refuse

    def to_host(self, a: SparseArray) -> np.ndarray:
        raise NotYet("a sparse tensor has no array of its elements; use .to_dense() first")


def open_sparse() -> None:
    """Let devices know such arrays: when the first is made."""
    devices.register_type(SparseBackend())
    sparse.active = True
