"""Changing a whole module at once: dtype, device, memory, gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, overload

from ...base import dtypes
from ...base.config import settings
from ...base.device import device
from ...base.dtypes import as_dtype, dtype
from ...base.formats import memory_format
from ...core.changes import changes
from ...core.modes import no_grad
from ...core.swap import swap_tensors
from ...core.tensor import Tensor
from ...operators.create.like import empty_like
from ...operators.memory.casting import _parse_to
from ..parameter import Parameter, is_lazy
from ._members import Members, children_first


class MapsTensors(Members):
    """The part of Module that maps a function over its tensors."""

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace every tensor by `fn(tensor)`, keeping the Parameter objects themselves."""
        if recurse:
            for module, own in children_first(self, "_apply", MapsTensors._apply):
                if module is not self:
                    module._apply(fn) if own else module._apply(fn, recurse=False)
        for name, param in self._parameters.items():
            if param is None:
                continue
            with no_grad():
                if is_lazy(param):
                    _replace(param, fn)
                elif settings.swap_module_params:
                    self._swap(name, param, fn)
                elif settings.overwrite_module_params:
                    changes[0] += 1
                    new = self._parameters[name] = Parameter(fn(param), param.requires_grad)
                    new.grad = None if param.grad is None else fn(param.grad.detach())
                else:
                    _replace(param, fn)
                    if param.grad is not None:
                        _replace(param.grad, fn)
        for name, buf in self._buffers.items():
            if buf is not None:
                if is_lazy(buf):
                    _replace(buf, fn)
                else:
                    changes[0] += 1
                    self._buffers[name] = fn(buf)
        return self

    def _swap(self, name: str, param: Parameter, fn: Callable[[Tensor], Tensor]) -> None:
        """Let a parameter be what `fn` makes of it, for everybody who holds it, and its gradient likewise."""
        where = f"_apply(): Couldn't swap {type(self).__name__}.{name}"
        grad, param.grad = param.grad, None
        try:
            swap_tensors(param, Parameter(fn(param), requires_grad=param.requires_grad))
        except Exception as error:
            param.grad = grad
            raise RuntimeError(where) from error
        if grad is not None:
            try:
                swap_tensors(grad, fn(grad).requires_grad_(grad.requires_grad))
            except Exception as error:
                raise RuntimeError(f"{where}.grad") from error
            param.grad = grad

    def apply(self, fn: Callable[[Any], None]) -> Self:
        """Call a function on every module in this one, children first, then on this one; return it.

        Args:
            fn: a function of one module.

        Example:
            >>> def ones(module):
            ...     if isinstance(module, nn.Linear):
            ...         nn.init.ones_(module.weight)
            >>> net = nn.Sequential(nn.Linear(2, 1), nn.ReLU()).apply(ones)
            >>> net[0].weight.detach()
            tensor([[1., 1.]])
        """
        for module, own in children_first(self, "apply", MapsTensors.apply):
            if own:
                module.apply(fn)
            else:
                fn(module)
        return self

    @overload
    def to(
        self,
        device: device | str | int | None = ...,
        dtype: dtype | None = ...,
        non_blocking: bool = ...,
        *,
        memory_format: memory_format | None = ...,
    ) -> Self: ...
    @overload
    def to(self, dtype: dtype, non_blocking: bool = ..., *, memory_format: memory_format | None = ...) -> Self: ...
    @overload
    def to(self, tensor: Tensor, non_blocking: bool = ..., *, memory_format: memory_format | None = ...) -> Self: ...
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move or cast all parameters and buffers, in place, and return the module.

        Takes a device, a dtype, both, or a tensor whose device and dtype are used. A dtype casts only
        what is floating point or complex. `memory_format=` converts 4-d (or 5-d) parameters.

        Raises:
            TypeError: if the dtype is not floating point or complex.

        Example:
            >>> net = nn.Linear(2, 3).to(torch.float64)
            >>> net.weight.dtype
            torch.float64
            >>> net.to("cpu", torch.float32).weight.dtype
            torch.float32
        """
        device, dtype = _parse_to(args, kwargs)
        non_blocking = kwargs.get("non_blocking", any(a is True for a in args))
        memory_format = kwargs.get("memory_format")
        if dtype is not None:
            dtype = as_dtype(dtype)
            if dtype.category < dtypes.FLOATING:
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            extra: dict[str, Any] = {}
            if memory_format is not None and t.dim() in (4, 5):
                extra["memory_format"] = memory_format
            try:
                return t.to(device=device, dtype=wanted, non_blocking=non_blocking, **extra)
            except NotImplementedError as e:
                if t.is_meta:
                    raise NotImplementedError(
                        f"{e} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to()"
                        " when moving module from meta to a different device."
                    ) from None
                raise

        return self._apply(convert)

    def to_empty(self, *, device: device | str | int | None, recurse: bool = True) -> Self:
        """Move to a device without copying values: memory is there, its content is not set.

        Used for modules made on the `meta` device, before a checkpoint is loaded.

        Args:
            device: where the memory is made.
            recurse: False leaves child modules where they are.

        Example:
            >>> net = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
            >>> net.weight.device, net.weight.shape
            (device(type='cpu'), torch.Size([3, 2]))
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move all parameters and buffers to host memory and return the module.

        Example:
            >>> nn.Linear(2, 2).cpu().weight.device
            device(type='cpu')
        """
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: int | device | None = None) -> Self:
        """Move all parameters and buffers to a GPU and return the module.

        Args:
            device: number of the GPU or a device; the current one if not given.

        Example:
            >>> net = nn.Linear(2, 2)
            >>> net = net.cuda() if torch.cuda.is_available() else net
        """
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: int | device | None = None) -> Self:
        """Raise an error that names the devices there are: rushlight has no XPU."""
        return self._apply(lambda t: t.to("xpu" if device is None else device))

    def type(self, dst_type: Any) -> Self:
        """Cast all parameters and buffers, whole numbers too, and return the module.

        Args:
            dst_type: a dtype, or its name such as `"torch.DoubleTensor"`.

        Example:
            >>> nn.Linear(2, 2).type(torch.float64).bias.dtype
            torch.float64
        """
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32 and return the module.

        Example:
            >>> nn.Linear(2, 2, dtype=torch.float64).float().weight.dtype
            torch.float32
        """
        return self._cast_floats(dtypes.float32)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64 and return the module.

        Example:
            >>> nn.Linear(2, 2).double().weight.dtype
            torch.float64
        """
        return self._cast_floats(dtypes.float64)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16 and return the module.

        Example:
            >>> nn.Linear(2, 2).half().weight.dtype
            torch.float16
        """
        return self._cast_floats(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16 and return the module.

        Example:
            >>> nn.Linear(2, 2).bfloat16().weight.dtype
            torch.bfloat16
        """
        return self._cast_floats(dtypes.bfloat16)

    def _cast_floats(self, dtype: dtype) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Switch gradients of all parameters on or off, and return the module; off freezes it.

        Args:
            requires_grad: whether operations on the parameters are recorded.

        Example:
            >>> net = nn.Linear(2, 2).requires_grad_(False)
            >>> net(torch.ones(1, 2)).requires_grad
            False
        """
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none: True sets `grad` to None, False fills it with zeros.

        Example:
            >>> net = nn.Linear(2, 1)
            >>> net(torch.ones(1, 2)).sum().backward()
            >>> net.zero_grad()
            >>> print(net.weight.grad)
            None
        """
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
                continue
            if p.grad.grad_fn is not None:
                p.grad = p.grad.detach()
            else:
                p.grad.requires_grad_(False)
            p.grad.zero_()

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory that other processes can map; return the module.

        Example:
            >>> nn.Linear(2, 2).share_memory().weight.is_shared()
            True
        """
        for t in (*self.parameters(), *self.buffers()):
            if is_lazy(t):
                t.share_memory_()  # which says that there is no memory yet
        return self._apply(lambda t: t.share_memory_())


def _replace(t: Any, fn: Callable[[Tensor], Tensor]) -> None:
    """Give a parameter new data; one without a shape yet gets a new placeholder."""
    if is_lazy(t):
        t._wait_as(fn(t._placeholder()))
        return
    data = fn(t)
    if data is not t:
        t.data = data
