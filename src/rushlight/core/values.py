"""A tensor's values on the host: numbers, lists, NumPy arrays, truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime import devices
from ..runtime.door import Kernel, run
from ..runtime.facts import Facts
from ..runtime.thread import FOREIGN, TRACED, WATCHED, here
from ..runtime.wrapped import MADE_OF_OTHERS
from .exposed import exposed
from .tensor_facts import TensorFacts

if TYPE_CHECKING:
    from ..base.array_module import ArrayModule
    from ..base.protocols import Array


def _host_read(xp: ArrayModule, x: Array) -> np.ndarray:
    return devices.backend_of_type(x.__class__).to_host(x)


# Every read of values by the host passes the door, so that a recorder can see it.
HOST_READ = Kernel(
    "host_read", _host_read, moves_only=True, facts=Facts(aten="_local_scalar_dense plain")
)


_SEEN = WATCHED | TRACED | FOREIGN  # whoever may want to know of it
_MANY = "only one element tensors can be converted to Python scalars"


class TensorValues(TensorFacts):
    """What a tensor answers when Python asks for its values."""

    __slots__ = ()

    requires_grad: Any
    detach: Any
    unbind: Any

    def _host(self) -> np.ndarray:
        tracer = here.tracer
        if tracer is None and self._a.__class__ is np.ndarray and not here.state & _SEEN:
            return self._a  # nobody looks
        if tracer is not None and self._a.__class__ not in MADE_OF_OTHERS:
            return tracer.read(HOST_READ, self._a)
        return run(HOST_READ, self._a.__class__, (self._a,), {})

    def item(self) -> Any:
        """The one element of a tensor as a Python number.

        Raises:
            RuntimeError: if there is not exactly one element.

        Example:
            >>> torch.tensor([2.5]).item()
            2.5
        """
        if self._a.size != 1:
            raise RuntimeError(
                f"a Tensor with {self._a.size} elements cannot be converted to Scalar"
            )
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
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if not self.is_cpu:
            raise TypeError(
                f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            )
        exposed.add(self._a)
        # A view: its shape, dtype and flags are the user's to change, ours stay as they are.
        return self._host().view()

    def __array__(
        self, dtype: np.typing.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray:
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

    def __iter__(self) -> Any:
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
