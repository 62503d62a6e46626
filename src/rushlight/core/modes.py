"""Grad, inference and anomaly mode: the switches and the context managers that set them."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from ..runtime.thread import GRAD, INFERENCE, here, swap


class _Switches:
    """Process-wide switches, as in PyTorch."""

    __slots__ = ("anomaly", "check_nan")  # native/slots.h reads the first at its offset

    def __init__(self) -> None:
        self.anomaly = False
        self.check_nan = True


switches = _Switches()


class _Switch:
    """A context manager that is a decorator too, of functions and of generator functions."""

    def __call__(self, fn: Callable) -> Callable:
        if inspect.isclass(fn):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should "
                "only decorate functions or methods. To preserve the current behavior of class "
                "decoration, you can directly decorate the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(fn):
            return self._wrap_generator(fn)

        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            with self._fresh():
                return fn(*args, **kwargs)

        return inner

    def _wrap_generator(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def inner(*args: Any, **kwargs: Any) -> Any:
            generator = fn(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                with self._fresh():
                    try:
                        item = resume(value)
                    except StopIteration as stop:
                        return stop.value
                try:
                    resume, value = generator.send, (yield item)
                except GeneratorExit:
                    with self._fresh():
                        generator.close()
                    raise
                except BaseException as error:  # thrown in by the caller: the generator's to handle
                    resume, value = generator.throw, error

        return inner

    def _fresh(self) -> Any:
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


class no_grad(_Switch):  # noqa: N801
    """A block, or a decorated function `fn`, in which nothing is recorded for backward.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    bits = 0

    def __new__(cls, fn: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if fn is None else self(fn)  # used as a bare decorator

    def __init__(self, fn: Callable | None = None) -> None:
        pass

    def __enter__(self) -> None:  # `swap` without its frame: around every call that only computes
        before = self.before = here.state
        here.state = before & ~GRAD | self.bits

    def __exit__(self, *exc: object) -> None:
        here.state = here.state & ~GRAD | self.before & GRAD


class enable_grad(no_grad):  # noqa: N801
    """A block, or a decorated function `fn`, in which operations are recorded, inside `no_grad` too.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.no_grad(), torch.enable_grad():
        ...     y = x * 2
        >>> y.requires_grad
        True
    """

    bits = GRAD


class set_grad_enabled(_Switch):  # noqa: N801
    """Switch recording on or off: at once as a call, until the end of the block in a `with`, also as a decorator.

    Args:
        mode: whether operations are recorded for backward.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self.before = swap(GRAD, GRAD if mode else 0)

    def _fresh(self) -> Any:
        return set_grad_enabled(self.mode)

    def __call__(self, fn: Callable) -> Callable:
        swap(GRAD, self.before)
        return super().__call__(fn)

    def __enter__(self) -> None:
        swap(GRAD, GRAD if self.mode else 0)

    def __exit__(self, *exc: object) -> None:
        swap(GRAD, self.before)


class inference_mode(_Switch):  # noqa: N801
    """`no_grad` whose results can never become part of a graph, not even inside `enable_grad`.

    Args:
        mode: False ends an outer inference mode; or the function that is decorated.

    Example:
        >>> with torch.inference_mode():
        ...     y = torch.ones(2) * 2
        >>> y.is_inference()
        True
    """

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        return self

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _fresh(self) -> Any:
        return inference_mode(self.mode)

    def __enter__(self) -> None:
        # With False it does not only end an outer inference mode, it also switches recording on.
        self.before = swap(GRAD | INFERENCE, INFERENCE if self.mode else GRAD)

    def __exit__(self, *exc: object) -> None:
        swap(GRAD | INFERENCE, self.before)


class set_detect_anomaly:  # noqa: N801
    """Remember the forward line of every op, and stop at the first gradient that is nan.

    Works at once as a call, and until the end of the block in a `with`. Slow: for looking for a mistake.

    Args:
        mode: on or off.
        check_nan: raise where a gradient is nan.

    Example:
        >>> with torch.autograd.set_detect_anomaly(True):
        ...     torch.is_anomaly_enabled()
        True
        >>> torch.is_anomaly_enabled()
        False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        if here.recorder is not None:  # a program does not look
            here.recorder.complain("looks for anomalies in backward passes")
        self.before = (switches.anomaly, switches.check_nan)
        switches.anomaly, switches.check_nan = bool(mode), check_nan

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        switches.anomaly, switches.check_nan = self.before


class detect_anomaly(set_detect_anomaly):  # noqa: N801
    """Anomaly mode for one block.

    Args:
        check_nan: raise where a gradient is nan.

    Example:
        >>> x = torch.tensor(0.0, requires_grad=True)
        >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
        ...     (x * 2).backward()
        >>> torch.is_anomaly_enabled(), x.grad
        (False, tensor(2.))
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def is_grad_enabled() -> bool:
    """Whether operations are recorded for `backward` in this thread.

    Example:
        >>> with torch.no_grad():
        ...     torch.is_grad_enabled()
        False
    """
    return bool(here.state & GRAD)


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside a block of `inference_mode`.

    Example:
        >>> with torch.inference_mode():
        ...     torch.is_inference_mode_enabled()
        True
    """
    return here.inference


def is_anomaly_enabled() -> bool:
    """Whether `autograd.detect_anomaly` is switched on.

    Example:
        >>> torch.is_anomaly_enabled()
        False
    """
    return switches.anomaly
