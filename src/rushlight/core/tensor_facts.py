"""What a tensor is: its shape, dtype and device, and where its elements lie in memory."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from ..base import dtypes
from ..base.device import device
from ..base.formats import strided
from ..base.shapes import Size, wrap_dim
from ..runtime import devices
from .exposed import take_address
from .memory import data_pointer, root_array, shown_strides

_size = tuple.__new__  # of the numbers of an array's shape, which nobody need look at


class TensorFacts:
    """What a tensor answers about itself without looking at its values."""

    __slots__ = ()

    _a: Any

    @property
    def shape(self) -> Size:
        """The size of every dimension, as a `torch.Size` (a tuple).

        Same as `size()`, but without brackets.

        Example:
            >>> torch.zeros(2, 3).shape
            torch.Size([2, 3])
        """
        return _size(Size, self._a.shape)

    @overload
    def size(self, dim: None = ...) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Any:
        """The size of every dimension, or of one.

        Args:
            dim: the dimension asked for; negative ones count from the end. All of them if not
                given.

        Raises:
            IndexError: if there is no such dimension.

        Example:
            >>> x = torch.zeros(2, 3)
            >>> x.size(), x.size(-1)
            (torch.Size([2, 3]), 3)
        """
        shape = self._a.shape
        if dim is None:
            return _size(Size, shape)
        if not shape:
            wrap_dim(dim, 0)
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        return shape[wrap_dim(dim, len(shape))]

    @property
    def ndim(self) -> int:
        """The number of dimensions.

        Example:
            >>> torch.zeros(2, 3).ndim
            2
        """
        return self._a.ndim

    def dim(self) -> int:
        """The number of dimensions, as `ndim`.

        Example:
            >>> torch.zeros(2, 3).dim()
            2
        """
        return self._a.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of elements.

        Example:
            >>> torch.zeros(2, 3).numel()
            6
        """
        return self._a.size

    nelement = numel

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements.

        Example:
            >>> torch.tensor([1, 2]).dtype, torch.tensor([1.0]).dtype
            (torch.int64, torch.float32)
        """
        return dtypes.from_np(self._a.dtype)

    @property
    def device(self) -> device:
        """Where the elements lie: the CPU, or one of the GPUs.

        Example:
            >>> torch.zeros(2).device
            device(type='cpu')
        """
        return devices.device_of(self._a)

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor lies on an NVIDIA GPU.

        Example:
            >>> torch.zeros(2).is_cuda
            False
        """
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor lies in the memory of the CPU.

        Example:
            >>> torch.zeros(2).is_cpu
            True
        """
        return self._a.__class__ is np.ndarray

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has a shape and a dtype but no values, which is what the device "meta" is for.

        Example:
            >>> torch.empty(2, device="meta").is_meta
            True
        """
        return self.device.type == "meta"

    is_mps = is_xpu = is_sparse = is_sparse_csr = is_quantized = is_nested = is_mkldnn = False
    layout = strided
    names = None

    @property
    def itemsize(self) -> int:
        """The number of bytes of one element.

        Example:
            >>> torch.zeros(2).itemsize
            4
        """
        return self._a.itemsize

    def element_size(self) -> int:
        """The number of bytes of one element, as `itemsize`.

        Example:
            >>> torch.zeros(2, dtype=torch.float64).element_size()
            8
        """
        return self._a.itemsize

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements together.

        Example:
            >>> torch.zeros(2, 3).nbytes
            24
        """
        return self._a.nbytes

    def stride(self, dim: int | None = None) -> Any:
        """How many elements to go on in memory to reach the next position of a dimension.

        Args:
            dim: the dimension asked for; all of them, as a tuple, if not given.

        Example:
            >>> x = torch.zeros(2, 3)
            >>> x.stride(), x.T.stride(), x.stride(0)
            ((3, 1), (1, 3), 3)
        """
        item = self._a.itemsize
        strides = tuple([s // item for s in self._a.strides])
        if 0 in strides:
            strides = shown_strides(self._a.shape, strides)
        return strides if dim is None else strides[wrap_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """How many elements of the memory come before the first one of this tensor.

        Example:
            >>> torch.arange(5)[2:].storage_offset()
            2
        """
        root = root_array(self._a)
        return (data_pointer(self._a) - data_pointer(root)) // self._a.itemsize

    def data_ptr(self) -> int:
        """The address of the first element; views of the same place have the same one.

        Example:
            >>> x = torch.zeros(3)
            >>> x.data_ptr() == x.view(3, 1).data_ptr()
            True
        """
        return take_address(self._a)

    def get_device(self) -> int:
        """The index of the GPU, or -1 on the CPU.

        Example:
            >>> torch.zeros(2).get_device()
            -1
        """
        d = self.device
        return -1 if d.index is None else d.index

    def is_floating_point(self) -> bool:
        """Whether the dtype is a floating point one: float16, bfloat16, float32, float64 or a float8.

        Example:
            >>> torch.zeros(2).is_floating_point(), torch.tensor([1]).is_floating_point()
            (True, False)
        """
        return self.dtype.category == dtypes.FLOATING

    def is_complex(self) -> bool:
        """Whether the dtype is complex.

        Example:
            >>> torch.zeros(2, dtype=torch.complex64).is_complex()
            True
        """
        return self.dtype.category == dtypes.COMPLEX

    def is_signed(self) -> bool:
        """Whether the dtype has negative numbers.

        Example:
            >>> torch.tensor([1], dtype=torch.uint8).is_signed()
            False
        """
        return self.dtype.is_signed
