"""A tensor's values on the host: numbers, lists, NumPy arrays, truth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..base import dtypes
from ..base.arrays import Array, ArrayModule
from ..base.device import device
from ..base.formats import strided
from ..base.shapes import Size, wrap_dim
from ..runtime import devices
from ..runtime.door import Kernel, run
from ..runtime.facts import Facts
from ..runtime.thread import FOREIGN, TRACED, WATCHED, here
from ..runtime.wrapped import MADE_OF_OTHERS
from .exposed import exposed, take_address
from .memory import data_pointer, root_array, shown_strides

if TYPE_CHECKING:
    from .tensor import Tensor

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

    @overload
    def stride(self) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
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
        """The address of the first element; views of the same place have the same one. Of no elements 0.

        Example:
            >>> x = torch.zeros(3)
            >>> x.data_ptr() == x.view(3, 1).data_ptr()
            True
        """
        return take_address(self._a) if self._a.size else 0

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


def _host_read(xp: ArrayModule, x: Array) -> np.ndarray:
    return devices.backend_of_type(x.__class__).to_host(x)


# Every read of values by the host passes the door, so that a recorder can see it.
HOST_READ = Kernel("host_read", _host_read, moves_only=True, facts=Facts(aten="_local_scalar_dense plain"))


_SEEN = WATCHED | TRACED | FOREIGN  # whoever may want to know of it
_MANY = "only one element tensors can be converted to Python scalars"


class TensorValues(TensorFacts):
    """What a tensor answers when Python asks for its values."""

    __slots__ = ()

    requires_grad: Any

    if TYPE_CHECKING:

        def detach(self) -> Tensor: ...
        def unbind(self, dim: int = 0, *, axis: Any = None) -> tuple[Tensor, ...]: ...

    def _host(self) -> np.ndarray:
        tracer = here.tracer
        if tracer is None and self._a.__class__ is np.ndarray and not here.state & _SEEN:
            return self._a  # nobody looks
        if tracer is not None and self._a.__class__ not in MADE_OF_OTHERS:
            return tracer.read(HOST_READ, self._a)
        return run(HOST_READ, self._a.__class__, (self._a,), {})

    def item(self) -> int | float | bool:
        """The one element of a tensor as a Python number.

        Raises:
            RuntimeError: if there is not exactly one element.

        Example:
            >>> torch.tensor([2.5]).item()
            2.5
        """
        if self._a.size != 1:
            raise RuntimeError(f"a Tensor with {self._a.size} elements cannot be converted to Scalar")
        value = self._host().item()
        return float(value) if self._a.dtype.kind == "V" else value

    def tolist(self) -> Any:
        """The elements as nested Python lists; a number if there are no dimensions.

        Example:
            >>> torch.arange(4).reshape(2, 2).tolist()
            [[0, 1], [2, 3]]
        """
        a = self._host()
        return a.astype(np.float32).tolist() if a.dtype.kind == "V" else a.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The elements as a NumPy array over the same memory.

        Args:
            force: detach and copy to the CPU first where that is needed, instead of an error.

        Raises:
            RuntimeError: if the tensor requires grad (use `detach()` first).
            TypeError: if the tensor is not on the CPU.

        Example:
            >>> x = torch.zeros(2)
            >>> x.numpy()[0] = 5
            >>> x
            tensor([5., 0.])
        """
        if force:
            return self.detach().cpu()._host().view()
        if self.requires_grad and here.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            )
        exposed.add(self._a)
        # A view: its shape, dtype and flags are the user's to change, ours stay as they are.
        return self._host().view()

    def __array__(self, dtype: np.typing.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        a = self.numpy()
        if dtype is None or a.dtype == dtype:
            return a.copy() if copy else a
        return a.astype(dtype)

    def __bool__(self) -> bool:
        if self._a.size != 1:
            if self._a.size == 0:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._host())

    def __float__(self) -> float:
        if self._a.size != 1:
            raise ValueError(_MANY)
        return float(self.item())

    def __int__(self) -> int:
        if self._a.size != 1:
            raise ValueError(_MANY)
        return int(self.item())

    def __complex__(self) -> complex:
        if self._a.size != 1:
            raise ValueError(_MANY)
        return complex(self.item())

    def __index__(self) -> int:
        if self._a.size != 1 or self._a.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self) -> int:
        if self._a.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return self._a.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if self._a.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, (TensorValues, int, float, complex)):
            raise RuntimeError(
                f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(value)}."
            )
        same: Any = self == value
        return bool(same.any())
