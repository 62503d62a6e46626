"""NumPy's names for arguments, `axis` and `keepdims`, which PyTorch's reductions accept too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ...core.explain import not_a_tensor
from ...core.tensor import Tensor


def _rename(kwargs: dict[str, Any], theirs: str, ours: str) -> None:
    """Give an argument our name; where both are given theirs stays, and the function refuses it."""
    if theirs in kwargs and ours not in kwargs:
        kwargs[ours] = kwargs.pop(theirs)


def numpy_names(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let `fn(input, dim, keepdim)` be called with `axis=` and `keepdims=` as well."""

    name = fn.__name__

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and not isinstance(args[0], Tensor):
            raise not_a_tensor(name, "input", 1, args[0])
        if kwargs:
            _rename(kwargs, "axis", "dim")
            _rename(kwargs, "keepdims", "keepdim")
            if kwargs.get("dim").__class__ is bool:  # by position it is var's `unbiased`
                raise TypeError(f"{name}(): argument 'dim' must be tuple of ints, not bool")
        return fn(*args, **kwargs)

    return call


def axis_for_dim(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function with `dim` be called with `axis=` as well."""

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            _rename(kwargs, "axis", "dim")
        return fn(*args, **kwargs)

    return call


class _First(int):
    """0 as the default of `dim`: it can be told from a 0 that somebody gave."""


FIRST = _First(0)


def dim_or_axis(name: str, dim: int, axis: Any) -> int:
    """`dim`, whose default is `FIRST`, under either name; both at once are refused, as by PyTorch."""
    if axis is None:
        return 0 if dim is FIRST else dim
    if dim is not FIRST:
        raise TypeError(f"{name}() got an unexpected keyword argument 'axis'")
    return axis


def needed(name: str, axis: Any) -> int:
    """`axis` for a `dim` that was not given."""
    if axis is None:
        raise TypeError(f'{name}() missing 1 required positional arguments: "dim"')
    return axis


def one_of(name: str, dim: Any, axis: Any) -> Any:
    """`dim` under either name; both at once are refused, as by PyTorch."""
    if dim is None:
        return axis
    if axis is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument 'axis'")
    return dim
