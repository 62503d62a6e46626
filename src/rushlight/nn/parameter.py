"""Parameter and Buffer: tensors that a Module finds by being assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Self

from ..base.config import settings
from ..base.device import as_device
from ..base.dtypes import FLOATING, as_dtype, get_default_dtype
from ..core.modes import no_grad
from ..core.overriding import disabled, notice
from ..core.tensor import Tensor
from ..core.views import Extra
from ..operators.create.filled import empty
from ..runtime.thread import here

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _ParameterMeta(type):
    """Makes `isinstance(t, Parameter)` true for parameters that are of a user's tensor class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        if cls is not Parameter or not isinstance(instance, Tensor):
            return False
        return getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is trained: assigned to an attribute of a module, it becomes its parameter.

    Args:
        data: the tensor; memory is shared with it. Nothing makes an empty one.
        requires_grad: False freezes it.

    Example:
        >>> class Scale(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.by = nn.Parameter(torch.ones(2))
        >>> Scale().by
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
        >>> len(list(Scale().parameters()))
        1
    """

    __slots__ = ()
    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(
                f"cannot make a Parameter of a {type(data).__name__}; give it a Tensor, "
                f"for example {settings.module}.tensor(...)"
            )
        if type(data) is not Tensor and not isinstance(data, Parameter):
            own: Any = data.detach().requires_grad_(requires_grad)
            if type(own) is type(data):
                setattr(own, "_is_param", True)
                return own  # type: ignore[return-value]  # of the class of the data
        return _over(cls, data._a, requires_grad)

    def __deepcopy__(self, memo: dict) -> Parameter:
        if id(self) not in memo:
            copied = type(self)(_clone(self), self.requires_grad)
            memo[id(self)] = copied
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k != "_is_param"}
        args: tuple = (self.data, self.requires_grad, OrderedDict())
        if not state:
            return (_rebuild_parameter, args)
        return (_rebuild_parameter_with_state, (*args, state))


def _over(cls: type, array: Any, requires_grad: bool) -> Any:
    """Make a leaf tensor of class `cls` that shares the memory of an array."""
    notice(cls)
    p: Any = object.__new__(cls)
    p._a = array
    p._edge = None
    p.grad = None
    p._ver = None
    p._ext = None
    if here.inference:
        p._ext = Extra()
        p._ext.inference = True
    if requires_grad:
        if p.dtype.category < FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        p.requires_grad_(True)
    return p


def _clone(t: Tensor) -> Tensor:
    with no_grad():
        return t.detach().clone()


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """Make a parameter again from its pickle."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict) -> Parameter:
    param = Parameter(data, requires_grad)
    param.__dict__.update(state)
    return param


class _BufferMeta(type):
    """Makes `isinstance(t, Buffer)` true for every tensor that is marked as a buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is not Buffer:
            return type.__instancecheck__(cls, instance)
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is kept and not trained: assigned to a module's attribute, it becomes a buffer.

    Args:
        data: the tensor.
        persistent: False keeps it out of `state_dict`.

    Example:
        >>> net = nn.Module()
        >>> net.mean = nn.Buffer(torch.zeros(2))
        >>> list(net.state_dict())
        ['mean']
    """

    __slots__ = ()
    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = empty(0)
        t: Any = data.detach().requires_grad_(data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t


def is_lazy(param: Any) -> bool:
    """Return whether a parameter or buffer has no shape yet.

    Args:
        param: a parameter or buffer.

    Example:
        >>> nn.parameter.is_lazy(nn.LazyLinear(2).weight)
        True
    """
    return isinstance(param, UninitializedTensorMixin)


def _no_shape() -> RuntimeError:
    return RuntimeError(
        "Can't access the shape of an uninitialized parameter or buffer. This error usually "
        "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
        "initialized one. Call `forward` to initialize the parameters before accessing their "
        "attributes."
    )


class UninitializedTensorMixin:
    """What a parameter or buffer without a shape has: dtype, device, and `materialize`.

    Example:
        >>> isinstance(nn.LazyLinear(2).weight, nn.parameter.UninitializedTensorMixin)
        True
    """

    __slots__ = ()
    cls_to_become: Any = None

    @property
    def _a(self) -> Any:
        raise ValueError(
            "Attempted to use an uninitialized parameter. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `{settings.module}.nn.parameter."
            f"{type(self).__name__}` objects. When using LazyModules Call `forward` with a dummy "
            f"batch to initialize the parameters before calling {settings.module} functions"
        )

    @property
    def shape(self) -> Any:
        raise _no_shape()

    @property
    def dtype(self) -> Any:
        return self._placeholder().dtype

    @property
    def device(self) -> Any:
        return self._placeholder().device

    @property
    def data(self) -> Tensor:
        return self._placeholder()

    def is_floating_point(self) -> bool:
        """Return whether its dtype is floating point."""
        return self._placeholder().is_floating_point()

    def is_complex(self) -> bool:
        """Return whether its dtype is complex."""
        return self._placeholder().is_complex()

    def _placeholder(self) -> Tensor:
        return self.__dict__["_waiting"]

    def _wait_as(self, placeholder: Tensor) -> None:
        """Take the dtype and device of another empty tensor."""
        self.__dict__["_waiting"] = placeholder

    def copy_(self, src: Tensor, *_: Any, **__: Any) -> Any:
        """Of another one without a shape there is nothing to copy; anything else needs a shape."""
        if not is_lazy(src):
            raise _no_shape()
        return self

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter or buffer of this shape; its values are not set.

        Args:
            shape: the shape.
            device, dtype: other ones than it was made with.

        Example:
            >>> p = nn.UninitializedParameter()
            >>> p.materialize((2, 3))
            >>> p.shape
            torch.Size([2, 3])
        """
        device = self.device if device is None else device
        dtype = self.dtype if dtype is None else dtype
        array = empty(shape, device=device, dtype=dtype)._a
        del self.__dict__["_waiting"]
        self.__class__ = self.cls_to_become
        # The class has changed by now, and `_a` is no longer its property.
        setattr(self, "_a", array)

    def __deepcopy__(self: Any, memo: dict) -> Any:
        if id(self) not in memo:
            copied = type(self)(self.requires_grad, device=self.device, dtype=self.dtype)
            memo[id(self)] = copied
        return memo[id(self)]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return (type(self), (self.requires_grad, self.device, self.dtype))


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc,override]
    """A parameter whose shape is not known yet; lazy layers have them before their first input.

    Args:
        requires_grad: False freezes it.

    Example:
        >>> p = nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> type(p).__name__, tuple(p.shape)
        ('Parameter', (2, 3))
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _waiting(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc,override]
    """As `UninitializedParameter`: a buffer whose shape is not known yet."""

    __slots__ = ()
    __torch_function__ = disabled
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        t = _waiting(cls, requires_grad, device, dtype)
        t.persistent = persistent
        t._is_buffer = True
        return t


def _waiting(cls: type, requires_grad: bool, device: Any, dtype: Any) -> Any:
    dtype = get_default_dtype() if dtype is None else as_dtype(dtype)
    t: Any = object.__new__(cls)
    t._edge = None
    t.grad = None
    t._ver = None
    t._ext = None
    t._wait_as(empty(0, device=as_device(device), dtype=dtype))
    if requires_grad:
        t.requires_grad_(True)
    return t
