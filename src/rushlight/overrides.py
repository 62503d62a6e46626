"""`torch.overrides`: functions of a library that let the classes of their arguments answer instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from .base.errors import NotYet
from .core.tensor import Tensor

__all__ = [
    "DisableTorchFunctionSubclass", "TorchFunctionMode", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip


def _disabled_torch_function_impl(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # fmt: skip
    """The `__torch_function__` of a class that does not want to be asked."""
    return func(*args, **(kwargs or {}))


def _asks(value: Any) -> bool:
    method = getattr(type(value), "__torch_function__", _disabled_torch_function_impl)
    return getattr(method, "__func__", method) is not _disabled_torch_function_impl


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments has a `__torch_function__` of its own."""
    return any(_asks(a) for a in relevant_args)


def has_torch_function_unary(value: Any) -> bool:
    """`has_torch_function` of one argument."""
    return _asks(value)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of several arguments."""
    return has_torch_function(args)


def _in_order(args: Iterable[Any]) -> list[Any]:
    """One argument of each class that asks, subclasses before their bases, else as given."""
    chosen: list[Any] = []
    for arg in args:
        if not _asks(arg) or any(type(arg) is type(c) for c in chosen):
            continue
        at = next((i for i, c in enumerate(chosen) if issubclass(type(arg), type(c))), len(chosen))
        chosen.insert(at, arg)
    return chosen


def handle_torch_function(
    public_api: Callable, relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Ask the arguments' classes in turn; the first that does not answer NotImplemented decides."""
    asked = _in_order(relevant_args)
    types = tuple(map(type, asked))
    for arg in asked:
        answer = arg.__torch_function__(public_api, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorator: `dispatcher` names the arguments whose classes may answer."""

    def decorate(fn: Callable) -> Callable:
        import functools

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return fn(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor or answers for one."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of tensors or the getter of a property."""
    return func.__name__ == "__get__" or getattr(Tensor, func.__name__, None) is func


def resolve_name(f: Any) -> str | None:
    """`torch.Tensor.add` for that method, `torch.nn.functional.relu` for that function."""
    if isinstance(f, str):
        return f
    if is_tensor_method_or_property(f):
        return f"torch.Tensor.{f.__name__}"
    module = inspect.getmodule(f)
    return None if module is None else f"{f.__module__}.{f.__qualname__}"


class DisableTorchFunctionSubclass:
    """A block without `__torch_function__`: rushlight's own functions never ask for it."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


class TorchFunctionMode:
    """Refused when entered: rushlight's functions call nobody before they compute."""

    def __enter__(self) -> Any:
        raise NotYet(
            "overrides.TorchFunctionMode: rushlight's functions cannot be intercepted; see "
            "rushlight.profiler for what ran, and forward hooks for the inside of a model."
        )

    def __exit__(self, *exc: Any) -> None:
        return None
