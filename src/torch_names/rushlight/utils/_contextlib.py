"""`torch.utils._contextlib`: blocks that are decorators, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.modes import _Switch

__all__ = ["context_decorator"]


def context_decorator(ctx: Any, func: Callable) -> Callable:
    """A function that runs inside of a block: `ctx`, or what `ctx()` makes anew for each call.

    Args:
        ctx: a block, or a function that makes one.
        func: the function.

    Example:
        >>> from rushlight.utils._contextlib import context_decorator
        >>> def double(x):
        ...     return x * 2
        >>> context_decorator(lambda: torch.no_grad(), double)(torch.ones(1, requires_grad=True)).requires_grad
        False
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it "
            "ambiguous which interface to use."
        )
    return _Around(ctx if callable(ctx) else lambda: ctx)(func)


class _Around(_Switch):
    """Puts a block around each call of a function."""

    def __init__(self, make: Callable) -> None:
        self._fresh = make  # type: ignore[method-assign]


class _DecoratorContextManager(_Switch):
    """A block that a function can be decorated with; derive, and write `__enter__` and `__exit__`."""

    def clone(self) -> Any:
        """A block for one call."""
        return type(self)()

    def _fresh(self) -> Any:
        return self.clone()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that may be written without brackets."""

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made(orig_func)
