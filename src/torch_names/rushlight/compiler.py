"""`torch.compiler`: what one asks and tells `compile` besides calling it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .base.errors import only
from .capture.compiled import compile, reset_all
from .capture.record.recorder import complain_now, is_recording
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
    """Whether this call is being recorded by `compile`.

    Example:
        >>> torch.compiler.is_compiling()
        False
    """
    return is_recording()


def is_dynamo_compiling() -> bool:
    """See `compiler.is_compiling`; the name is PyTorch's.

    Example:
        >>> torch.compiler.is_dynamo_compiling()
        False
    """
    return is_recording()


def is_exporting() -> bool:
    """Whether this call is being recorded by `torch.export`: always False.

    Example:
        >>> torch.compiler.is_exporting()
        False
    """
    return False


def reset() -> None:
    """Forget every program of every compiled function.

    Example:
        >>> torch.compiler.reset()
    """
    reset_all()


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Keep a function out of compiled programs: one that calls it runs as plain Python, and a warning says so.

    Args:
        fn: the function; without it, the result is a decorator.
        recursive: accepted; what it calls is kept out, too.
        reason: put into the warning.

    Raises:
        TypeError: if `fn` is not a function.

    Example:
        >>> @torch.compiler.disable
        ... def show(x):
        ...     print(x.sum().item())
        >>> show(torch.ones(3))
        3.0
    """
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
    """What compiled functions do in this thread from now on, or until the end of the block.

    Args:
        stance: "default"; "force_eager" runs the function itself; "eager_on_recompile" runs it where there is no program
            yet; "fail_on_recompile" raises there.
        skip_guard_eval_unsafe: a hint about speed.
        force_backend: only of the default; there is one backend.

    Raises:
        RuntimeError: if `stance` is not known.

    Example:
        >>> double = torch.compile(lambda x: x * 2)
        >>> with torch.compiler.set_stance("force_eager"):
        ...     double(torch.ones(2))
        tensor([2., 2.])
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}': one of {list(_STANCES)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("non-default stance cannot have force_backend set")
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
    """Say that a new step begins. Nothing to do here: a result never shares memory with the next call.

    Example:
        >>> torch.compiler.cudagraph_mark_step_begin()
    """


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile(backend=...)` knows: one.

    Args:
        exclude_tags: accepted and not needed.

    Example:
        >>> torch.compiler.list_backends()
        ['rushlight']
    """
    return ["rushlight"]


def get_default_backend() -> str:
    """The backend that `compile` uses.

    Example:
        >>> torch.compiler.get_default_backend()
        'rushlight'
    """
    return "rushlight"


def allow_in_graph(fn: Any) -> Any:
    """The function `fn` itself: whatever it computes is recorded anyway.

    Example:
        >>> torch.compiler.allow_in_graph(torch.relu) is torch.relu
        True
    """
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function `fn` itself: a value that Python computes is kept in the program anyway, and watched for changes.

    Example:
        >>> torch.compiler.assume_constant_result(len) is len
        True
    """
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function `fn` itself, also as a decorator with `options`: a program here has no regions.

    Example:
        >>> torch.compiler.nested_compile_region(torch.relu) is torch.relu
        True
    """
    only("nested_compile_region", options, "options max_reuse_entries reuse_hash_fn")
    return (lambda f: f) if fn is None else fn


def wrap_numpy(fn: Callable) -> Callable:
    """A function `fn` of NumPy arrays as a function of tensors.

    Example:
        >>> flip = torch.compiler.wrap_numpy(lambda a: a[::-1].copy())
        >>> flip(torch.tensor([1, 2, 3]))
        tensor([3, 2, 1])
    """

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        from .core.tensor import Tensor, wrap

        arrays = [a.numpy() if isinstance(a, Tensor) else a for a in args]
        return wrap(fn(*arrays, **kwargs))

    return wrapped
