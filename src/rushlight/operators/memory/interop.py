"""Tensors outside rushlight: copies and pickles, DLPack both ways, NumPy's and CUDA's protocols."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...base.device import as_device
from ...base.errors import NoGpuError
from ...core.exposed import exposed
from ...core.memory import root_array
from ...core.public import public, publish
from ...core.tensor import Tensor, wrap
from ...runtime import devices
from ...runtime.door import run
from ...runtime.thread import settle
from ...runtime.wrapped import WrappedArray
from ..create.legacy import of_class
from ..shape.strided import as_strided_op, geometry
from .copies import clone_op

# -- copy and pickle -------------------------------------------------------------------------------


@public("Tensor", name="__deepcopy__")
def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    """A copy in new memory; only leaves can be copied, because a graph cannot."""
    import copy

    found = memo.get(id(self))
    if found is not None:
        return found
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. Use x.detach().clone() for the values alone."
        )
    t = wrap(self._a if self.is_meta else _copied(self._a, memo))
    if type(self) is not Tensor:
        t = of_class(t, type(self))
    memo[id(self)] = t
    t.__dict__.update(copy.deepcopy(self.__dict__, memo))
    if self.requires_grad:
        t.requires_grad_()
    if self.grad is not None:
        t.grad = copy.deepcopy(self.grad, memo)
    return t


def _copied(a: Any, memo: dict) -> Any:
    """A copy of an array, in the one copy of its memory that others of the same call share; not of another dtype's memory."""
    root = a if a.__class__ is WrappedArray else root_array(a)
    if root.dtype != a.dtype:
        return _dense_copy(a)
    held = memo.get(id(root))
    if held is None:
        held = memo[id(root)] = (root, _dense_copy(root))  # the root is held, so that its id stays its own
    if root is a:
        return held[1]
    size, stride, offset = geometry(a)  # type: ignore[arg-type]
    attrs = {"size": size, "stride": stride, "offset": offset, "home": geometry(root)}  # type: ignore[arg-type]
    return run(as_strided_op.kernel, a.__class__, (held[1],), attrs)


@public("Tensor")
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What takes this tensor's place when a module loads `other` under `torch.__future__.set_swap_module_params_on_conversion`.

    Args:
        other: the tensor of the state dict.
        assign: as in `load_state_dict`.

    Example:
        >>> torch.zeros(2).module_load(torch.ones(2))
        tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()


def _dense_copy(a: Any) -> Any:
    """A copy with the same order of dims in memory, by a kernel: the values may still wait to be computed."""
    attrs = {"order": "C" if 0 in a.strides else "K"}
    return run(clone_op.kernel, a.__class__, (a,), attrs)


@public("Tensor", name="__copy__")
def _copy(self: Tensor) -> Tensor:
    """A tensor over the same memory, a leaf that requires a gradient if this one does."""
    t = wrap(self._a)
    if type(self) is not Tensor:
        t = of_class(t, type(self))
    t.__dict__.update(self.__dict__)
    return t.requires_grad_() if self.requires_grad else t


@public("Tensor", name="__reduce_ex__")
def _reduce_ex(self: Tensor, protocol: Any) -> Any:
    """The values and `requires_grad`; how they were computed cannot be kept."""
    if self._a.__class__ is WrappedArray:
        return _rebuild_wrapper, (type(self), wrapper_words(self), self.__dict__)
    if self.is_meta:
        data: Any = None
    else:
        a = self._host()
        data = _order_and_bytes(a)
    # A plain tensor is not named: as `torch` its class has PyTorch's name, and whoever reads this may have PyTorch.
    cls = None if type(self) is Tensor else type(self)
    state = (cls, data, tuple(self._a.shape), self.dtype, str(self.device), self.requires_grad, self.__dict__ or None)
    return _rebuild, state


def wrapper_words(t: Tensor) -> tuple:
    """What PyTorch keeps of a tensor that is made of others, besides its attributes."""
    size, stride = tuple(t.shape), tuple(t.stride())
    return t.dtype, size, stride, 0, t.layout, t.device, t.requires_grad


def rebuild_wrapper(cls: Any, d: Any, size: Any, stride: Any, offset: Any, layout: Any, where: Any, grad: bool) -> Any:
    """A tensor of a class that computes with others, before it gets its attributes."""
    make: Any = Tensor._make_wrapper_subclass  # type: ignore[attr-defined]
    return make(cls, size, strides=stride, dtype=d, layout=layout, device=where, requires_grad=grad)


def _rebuild_wrapper(cls: Any, words: tuple, state: dict) -> Any:
    made = rebuild_wrapper(cls, *words)
    made.__dict__.update(state)
    return made


def _order_and_bytes(a: np.ndarray) -> tuple[tuple[int, ...], bytearray]:
    """The dims from outermost to innermost, and the elements in that order."""
    order = tuple(sorted(range(a.ndim), key=lambda i: (-a.strides[i], i)))
    return order, bytearray(np.ascontiguousarray(a.transpose(order)).tobytes())


def _rebuild(cls: type | None, data: Any, shape: tuple, d: dtypes.dtype, where: str, grad: bool, extra: Any) -> Tensor:
    if data is None:
        from ..create.filled import empty

        t = empty(shape, dtype=d, device="meta")
    else:
        order, raw = data
        flat = np.frombuffer(raw, d.np)
        inverse = sorted(range(len(order)), key=order.__getitem__)
        t = wrap(flat.reshape([shape[i] for i in order]).transpose(inverse))
        if where != "cpu":
            t = t.to(where)
    if cls is not None:
        t = of_class(t, cls)
    if extra:
        t.__dict__.update(extra)
    return t.requires_grad_() if grad else t


# -- DLPack ----------------------------------------------------------------------------------------


@public("Tensor", name="__dlpack__")
def _dlpack(
    self: Tensor, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """A capsule that another library can read without a copy."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_meta:
        raise BufferError("Can't export meta tensors: they have no data")
    exposed.hand_out(self._a)
    if not self.is_cpu:
        return self._a.__dlpack__(stream=stream)
    if _TAKES_VERSIONS:
        return self._a.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
    return (self._a.copy() if copy else self._a).__dlpack__()


_TAKES_VERSIONS = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # 2.0 has DLPack without versions


@public("torch")
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory; newer libraries take the tensor itself.

    Example:
        >>> torch.from_dlpack(torch.to_dlpack(torch.arange(3)))
        tensor([0, 1, 2])
    """
    return _dlpack(tensor)


@public("Tensor", name="__dlpack_device__")
def _dlpack_device(self: Tensor) -> tuple[Any, int]:
    return self._a.__dlpack_device__()


@public("torch")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array.

    Args:
        ext_tensor: an object with `__dlpack__`, or a capsule.
        device: where to put the result; where it is if not given.
        copy: True always copies, False raises rather than copy.

    Example:
        >>> torch.from_dlpack(np.arange(3))
        tensor([0, 1, 2])
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(
            f"from_dlpack received an invalid capsule: {type(ext_tensor).__name__} does not export DLPack"
        )
    kind = int(ext_tensor.__dlpack_device__()[0])
    if kind in (1, 3):  # kDLCPU, kDLCUDAHost
        a: Any = np.from_dlpack(ext_tensor)
        if not a.flags.writeable:
            a = _writeable(a)
        t = wrap(a.copy() if copy else a)
        exposed.add(t._a)
    elif kind == 2:  # kDLCUDA
        t = wrap(devices.backend_of(as_device("cuda")).xp.from_dlpack(ext_tensor))
    else:
        raise RuntimeError(f"Unsupported device_type: {kind}; rushlight reads cpu and cuda")
    return t if device is None else t.to(device)


def _writeable(a: np.ndarray) -> np.ndarray:
    """The same memory without NumPy's read-only mark, which older DLPack versions always set."""
    interface = dict(a.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    return np.asarray(_Shared(interface, a))


class _Shared:
    """Keeps the owner of some memory alive while an array looks at it."""

    def __init__(self, interface: dict, owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


class _Capsule:
    """A bare capsule dressed as an exporter, for consumers that ask one."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


# -- host memory that a GPU reads by itself ---------------------------------------------------------


def _runtime() -> Any:
    from ...runtime import cuda

    reason = cuda.why_not()
    if reason is not None:
        raise NoGpuError(
            f"Cannot access accelerator device when none is available: pinned memory is for "
            f"copies to a GPU, and {reason}"
        )
    from ...runtime.cuda import device as runtime

    return runtime


@public("Tensor")
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in page-locked memory, from which copies to a GPU can run in the background.

    Raises:
        RuntimeError: if there is no GPU.

    Example:
        >>> x = torch.zeros(2)
        >>> (x.pin_memory() if torch.cuda.is_available() else x).shape
        torch.Size([2])
    """
    if not self.is_cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    settle()
    return wrap(_runtime().pin(self._a))


@public("Tensor")
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is page-locked; without a GPU none is.

    Example:
        >>> torch.zeros(2).is_pinned()
        False
    """
    from ...runtime import cuda

    return self.is_cpu and cuda.why_not() is None and _runtime().is_pinned(self._a)


@public("Tensor")
def record_stream(self: Tensor, s: Any) -> None:
    """Keep the memory until a stream has finished what it holds now, even if the tensor goes away.

    Args:
        s: a `torch.cuda.Stream`.

    Example:
        >>> x = torch.zeros(2)
        >>> if torch.cuda.is_available():
        ...     x.cuda().record_stream(torch.cuda.current_stream())
    """
    if self.is_cuda:
        _runtime().keep_until(self._a, s.raw)


# -- NumPy and CUDA --------------------------------------------------------------------------------


@public("Tensor", name="__array_wrap__")
def _array_wrap(self: Tensor, array: np.ndarray, context: Any = None, scalar: Any = None) -> Any:
    """What a NumPy function computed of this tensor, as a tensor."""
    a = np.asarray(array)
    return wrap(a.astype(np.uint8) if a.dtype == np.bool_ else a)  # PyTorch's answer is uint8, too


def _cuda_array_interface(self: Tensor) -> Any:
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()}. If CUDA "
            "data is required use tensor.cuda() to copy tensor to device memory."
        )
    if self.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad. If gradients "
            "aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    exposed.hand_out(self._a)
    return self._a.__cuda_array_interface__


publish("Tensor", "__cuda_array_interface__", property(_cuda_array_interface))
