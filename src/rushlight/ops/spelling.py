"""NumPy's names for arguments, `axis` and `keepdims`, which PyTorch's reductions accept too."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def numpy_names(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let `fn(input, dim, keepdim)` be called with `axis=` and `keepdims=` as well."""

    @wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if "axis" in kwargs:
                kwargs["dim"] = kwargs.pop("axis")
            if "keepdims" in kwargs:
                kwargs["keepdim"] = kwargs.pop("keepdims")
        return fn(*args, **kwargs)

    return call
