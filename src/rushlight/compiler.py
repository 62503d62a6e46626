"""`torch.compiler`: what one asks and tells `compile` besides calling it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .capture.compiled import compile, reset_all
from .capture.record.inside import complain_now, is_recording
from .runtime.thread import here

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_stance",
    "wrap_numpy",
]

_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")


def is_compiling() -> bool:
    """Whether this call is being recorded."""
    return is_recording()


def is_dynamo_compiling() -> bool:
    """Whether this call is being recorded."""
    return is_recording()


def is_exporting() -> bool:
    """Whether this call is being recorded for export: never, there is no such export."""
    return False


def reset() -> None:
    """Forget every program of every compiled function."""
    reset_all()


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keep a function out of programs: one that calls it stays eager, and says so."""
    if fn is None:
        return lambda f: disable(f, recursive, reason=reason)
    if not callable(fn):
        raise TypeError(f"disable() needs a function, not {type(fn).__name__}")
    name = getattr(fn, "__name__", type(fn).__name__)

    @functools.wraps(fn)
    def plain(*args: Any, **kwargs: Any) -> Any:
        if is_recording():
            complain_now(f"calls {name}, which is marked compiler.disable" + _because(reason))
        return fn(*args, **kwargs)

    return plain


def _because(reason: str | None) -> str:
    return f" ({reason})," if reason else ","


class set_stance:  # noqa: N801 - a function, context manager and decorator, as in PyTorch
    """What compiled functions do in this thread from now on, or until the end of the block."""

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': one of {list(_STANCES)}")
        self.before = _swap(stance)
        self.stance = stance

    def __enter__(self) -> None:
        _swap(self.stance)

    def __exit__(self, *exc: Any) -> None:
        _swap(self.before)

    def __call__(self, fn: Callable) -> Callable:
        _swap(self.before)

        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self.stance):
                return fn(*args, **kwargs)

        return inner


def _swap(name: str) -> str:
    before, here.stance = here.stance, name
    return before


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: results never share memory with the next call."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The one there is."""
    return ["rushlight"]


def get_default_backend() -> str:
    """The one there is."""
    return "rushlight"


def allow_in_graph(fn: Any) -> Any:
    """The function itself: whatever it computes is recorded."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function itself: what Python computes is kept in the program anyway, and watched."""
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself: a program has no regions."""
    return (lambda f: f) if fn is None else fn


def wrap_numpy(fn: Callable) -> Callable:
    """A function of NumPy arrays as one of tensors."""

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from .core.tensor import Tensor, wrap

        arrays = [a.numpy() if isinstance(a, Tensor) else a for a in args]
        return wrap(fn(*arrays, **kwargs))

    return wrapped
