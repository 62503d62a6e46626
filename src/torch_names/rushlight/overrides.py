"""`torch.overrides`: functions of a library that let the classes of their arguments answer instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from .core.arming import (
    UNASKED,
    _originals,
    as_it_was,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
)
from .core.overriding import MODES, DisableTorchFunctionSubclass, arming
from .core.overriding import DisableTorchFunction as DisableTorchFunction
from .core.overriding import disabled as _disabled_torch_function_impl  # noqa: F401 - asked for here
from .core.public import HOMES, NAMESPACES
from .core.tensor import Tensor, properties
from .operators.late import load_all
from .runtime.thread import here

__all__ = [
    "BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "get_default_nowrap_functions", "get_ignored_functions",
    "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
    "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like",
    "is_tensor_method_or_property", "redispatch_function", "resolve_name", "wrap_torch_function",
]  # fmt: skip


def redispatch_function(func: Callable, types: Any, args: tuple, kwargs: dict | None) -> Any:
    """Call a function past its own question to the classes of its arguments; what it calls asks again.

    Args:
        func, types, args, kwargs: what `__torch_function__` was given.

    Example:
        >>> class Told(torch.Tensor):
        ...     @classmethod
        ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
        >>> torch.ones(2).as_subclass(Told).add(1)
        add
        tensor([2., 2.])
    """
    kwargs = kwargs or {}
    if func in _originals:
        return as_it_was(func)(*args, **kwargs)  # type: ignore[arg-type]
    here.hop = True
    try:
        return func(*args, **kwargs)
    finally:
        here.hop = False


def wrap_torch_function(dispatcher: Callable) -> Callable:
    """Decorator: `dispatcher` names the arguments whose classes may answer.

    Args:
        dispatcher: takes the function's arguments, returns those whose classes may answer.

    Example:
        >>> @torch.overrides.wrap_torch_function(lambda shape: (shape,))
        ... def area(shape):
        ...     return shape.prod()
        >>> area(torch.tensor([2, 3]))
        tensor(6)
    """

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
    """Whether something is a tensor or answers for one.

    Args:
        inp: anything.

    Example:
        >>> torch.overrides.is_tensor_like(torch.ones(2)), torch.overrides.is_tensor_like([1.0])
        (True, False)
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable) -> bool:
    """Whether a function is a method of tensors or the getter of a property.

    Args:
        func: a function.

    Example:
        >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
        True
    """
    name = getattr(func, "__name__", "")
    return name in ("__get__", "__set__") or getattr(Tensor, name, None) is func


def resolve_name(f: Any) -> str | None:
    """The name under which users know a function, such as "torch.Tensor.add".

    Args:
        f: a function or method.

    Example:
        >>> torch.overrides.resolve_name(torch.Tensor.add)
        'torch.Tensor.add'
    """
    if isinstance(f, str):
        return f
    if is_tensor_method_or_property(f):
        owner = getattr(f, "__self__", None)
        held = next((n for n, v in properties().items() if v is owner), None) if owner else None
        return f"torch.Tensor.{held}.{f.__name__}" if held else f"torch.Tensor.{f.__name__}"
    name = getattr(f, "__name__", "")
    for place, home in _HOMES.items():
        if place in NAMESPACES and NAMESPACES[place].get(name) is f:
            return f"{home}.{name}"
    module = inspect.getmodule(f)
    return None if module is None else f"{f.__module__}.{f.__qualname__}"


class TorchFunctionMode:
    """A block in which every public function asks this object's `__torch_function__` first.

    Derive from it and write `__torch_function__(self, func, types, args, kwargs)`.

    Example:
        >>> class Counting(torch.overrides.TorchFunctionMode):
        ...     calls = 0
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         self.calls += 1
        ...         return func(*args, **(kwargs or {}))
        >>> with Counting() as mode:
        ...     _ = torch.ones(2).add(1)
        >>> mode.calls
        2
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        arming.arm(None)
        here.function_modes = (*here.function_modes, self)
        MODES.append(self)
        return self

    def __exit__(self, *exc: Any) -> None:
        MODES.remove(self)
        here.function_modes = here.function_modes[:-1]

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of this class; `with Mode():` does the same."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    Example:
        >>> with torch.overrides.BaseTorchFunctionMode():
        ...     torch.ones(2) + 1
        tensor([2., 2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def _enable_torch_function() -> Any:
    """A block in which classes and modes are asked again."""
    before, here.unasked = here.unasked, 0
    try:
        yield
    finally:
        here.unasked = before


# -- what can be overridden ------------------------------------------------------------------------

_HOMES = {place: f"torch{home}" for place, home in HOMES.items()} | {"autograd": "torch.autograd"}


def _all_of(place: str) -> list[Any]:
    load_all()
    names: dict[str, Any] = NAMESPACES.get(place) or {}
    found = [f for n, f in names.items() if callable(f) and n not in UNASKED and not n.startswith("_")]
    if place == "Tensor":
        found = [f for n, f in names.items() if callable(f) and n not in UNASKED]
        found += [v.__get__ for v in properties().values()]
    return found


def get_overridable_functions() -> dict[Any, list[Callable]]:
    """The functions that ask a `__torch_function__`, by the module or class they are in.

    Example:
        >>> torch.add in torch.overrides.get_overridable_functions()[torch]
        True
    """
    from importlib import import_module

    root = __name__.partition(".")[0]
    answer: dict[Any, list[Callable]] = {
        import_module(root + home.removeprefix("torch")): _all_of(place) for place, home in _HOMES.items()
    }
    return answer | {Tensor: _all_of("Tensor")}


def get_ignored_functions() -> set[Callable]:
    """Public functions that never ask a `__torch_function__`.

    Example:
        >>> torch.is_tensor in torch.overrides.get_ignored_functions()
        True
    """
    spaces = NAMESPACES["torch"], NAMESPACES["Tensor"]
    found = [space[n] for space in spaces for n in UNASKED & space.names()]
    return {f for f in found if callable(f)}


def get_default_nowrap_functions() -> set[Callable]:
    """Functions whose results stay what they are: the default `__torch_function__` makes no subclass of them.

    Example:
        >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
        True
    """
    return {getattr(Tensor, name).__get__ for name in ("_base", "grad")}


def get_testing_overrides() -> dict[Callable, Callable]:
    """For each function that asks a `__torch_function__`: a function of the same arguments that returns -1.

    Example:
        >>> torch.overrides.get_testing_overrides()[torch.add](torch.ones(2), 1)
        -1
    """
    functions = [f for group in get_overridable_functions().values() for f in group]
    return {f: _same_arguments(f) for f in functions}


def _same_arguments(fn: Callable) -> Callable:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        signature = None

    def answer(*args: Any, **kwargs: Any) -> int:
        if signature is not None:
            signature.bind(*args, **kwargs)
        return -1

    return answer
