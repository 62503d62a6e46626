"""Standing: a tensor object without an array of its own, whose numbers lie in a plain tensor that it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.overriding import notice
from ...core.tensor import Tensor


class _Nothing:
    """Where a plain tensor has its array: no device computes with it."""

    __slots__ = ()


_NOTHING = _Nothing()


class Standing(Tensor):
    """Base of nested tensors: gradients and what does not depend on the shape are those of the tensor it holds.

    Functions are answered by `__torch_function__`; what no table of its class has raises NotImplementedError.
    """

    _values: Tensor  # type: ignore[assignment]
    is_nested = True

    @classmethod
    def _over(cls, values: Tensor, **fields: Any) -> Any:
        notice(cls)
        t = object.__new__(cls)
        t._a = _NOTHING
        t._edge = t._grad = t._ver = t._ext = None
        t.__dict__.update(fields, _values=values)
        return t

    def _like(self, values: Tensor) -> Any:
        """The same shape around other numbers."""
        raise NotImplementedError

    # -- gradients ------------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        g = self._values.grad
        return None if g is None else self._like(g)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._values.grad = None if value is None else value._values

    @property
    def requires_grad(self) -> bool:
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._values.requires_grad = value

    @property
    def data(self) -> Any:
        return self._like(self._values.data)

    @data.setter
    def data(self, value: Any) -> None:
        self._values.data = value._values

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self._values.requires_grad_(requires_grad)
        return self

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        given = gradient._values if isinstance(gradient, Standing) else gradient
        self._values.backward(given, *args, **kwargs)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        def on_values(g: Tensor) -> Any:
            answer = hook(self._like(g))
            return answer._values if isinstance(answer, Standing) else answer

        return self._values.register_hook(on_values)

    # -- what has no answer ---------------------------------------------------------------------

    def tolist(self) -> Any:
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {_name(self)}")

    def numpy(self, **options: Any) -> Any:
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()

    def item(self) -> Any:
        if self._values.numel() != 1:
            n = self._values.numel()
            raise RuntimeError(f"a Tensor with {n} elements cannot be converted to Scalar")
        return self._values.item()

    def __bool__(self) -> bool:
        if self._values.numel() > 1:
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())


def _name(t: Any) -> str:
    return type(t).__name__


def of_values(kind: type[Standing], func: Any, args: tuple, kwargs: dict) -> Any:
    """A function of one nested tensor of that kind, which knows no dims."""
    self = args[0] if args else kwargs["input"]
    rest = [a._values if isinstance(a, kind) else a for a in args[1:]]
    options = {k: v for k, v in kwargs.items() if k not in ("input", "layout")}
    if not isinstance(self, kind):  # dense.to(nested)
        return func(self, *rest, **options)
    out = func(self._values, *rest, **options)
    return self if out is self._values else self._like(out) if isinstance(out, Tensor) else out


def _of_values(name: str) -> property:
    return property(lambda self: getattr(self._values, name), doc=f"`{name}` of the values.")


def _call_of_values(name: str) -> Callable[..., Any]:
    def call(self: Standing, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._values, name)(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"`{name}` of the values."
    return call


for _attribute in (
    "dtype", "device", "is_cuda", "is_cpu", "is_meta", "itemsize", "nbytes", "is_leaf", "grad_fn",
    "retains_grad", "output_nr", "_version",
):  # fmt: skip
    setattr(Standing, _attribute, _of_values(_attribute))
for _method in (
    "element_size", "storage_offset", "get_device", "is_floating_point", "is_complex", "is_signed", "retain_grad",
    "is_inference", "numel", "nelement",
):  # fmt: skip
    setattr(Standing, _method, _call_of_values(_method))
