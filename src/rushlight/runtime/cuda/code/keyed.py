"""A kernel's body with prepared launches in front of it, found by the arrays of a call; in C where that was built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
from cupy.cuda import runtime

from ....base.bounded import Bounded
from .launch import _native

_MOST = 8192  # kinds of calls kept per kernel


def _told(value: Any, numbers: bool = False) -> Any:
    """An attribute's part of a key: numbers, texts and tuples by what they are, the rest by identity."""
    if isinstance(value, tuple):
        return value.__class__, *[_told(part) for part in value]
    if value.__class__ in (int, float):
        return value.__class__ if numbers else repr(value)
    return (str, value) if value.__class__ is str else id(value)


def keyed(
    body: Callable[..., Any],
    prepare: Callable[..., Any],
    here: Any = None,
    watched: tuple[tuple[Any, str], ...] = (),
    numbers: bool = False,
) -> Callable[..., Any]:
    """The body, which is passed by where `prepare` has a launch for dtypes, shapes, strides, alignment and attributes.

    `prepare` is called like the body, once per kind of call, and answers a launch of the arrays alone, or
    None where the body has to be called. A launch that answers NotImplemented is followed by the body, too.
    With `here`, a first operand that an in-place operation is about to overwrite goes to the body. What is
    `watched`, attributes of objects, is asked at every call, and belongs to its kind. With `numbers` operands
    may be numbers, and a launch is given all operands and attributes: how much a number is then makes no kind.
    """
    if runtime.getDeviceCount() > 1:
        return _by_device(lambda: _keyed(body, prepare, here, watched, numbers))
    return _keyed(body, prepare, here, watched, numbers)


def alone(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a kernel that is the launch which `prepare` has, for arrays as they lie; NotImplemented where it has none."""

    def body(*arrays: Any, **attrs: Any) -> Any:
        launch = prepare(*arrays, **attrs)
        return NotImplemented if launch is None else launch(*arrays)

    return keyed(body, prepare)


def _by_device(make: Callable[[], Any]) -> Callable[..., Any]:
    """One of a kind for each GPU, which is called where it is the current one: launches belong to the GPU they were prepared on."""
    made: dict[int, Any] = Bounded(64)

    def call(*arrays: Any, **attrs: Any) -> Any:
        index = runtime.getDevice()
        found = made.get(index)
        if found is None:
            found = made[index] = make()
        return found(*arrays, **attrs)

    return call


def _keyed(
    body: Callable[..., Any], prepare: Callable[..., Any], here: Any, watched: tuple[tuple[Any, str], ...],
    numbers: bool,
) -> Callable[..., Any]:  # fmt: skip
    if _native is not None:
        return _native.Keyed(body, prepare, here, watched, numbers)
    calls: dict[Any, Any] = Bounded(_MOST)

    def call(*arrays: Any, **attrs: Any) -> Any:
        if all(
            a is None or a.__class__ is cupy.ndarray or (numbers and a.__class__ in (int, float)) for a in arrays
        ) and not (here is not None and arrays and arrays[0] is not None and here.in_place is arrays[0]):
            kinds = [
                (a.shape, a.strides, a.dtype, a.data.ptr & 15 == 0) if a.__class__ is cupy.ndarray else a.__class__
                for a in arrays
            ]
            values = [(name, _told(value, numbers)) for name, value in attrs.items()]
            seen = [getattr(owner, name) for owner, name in watched]
            key = (*kinds, *values, *[id(value) for value in seen])
            found = calls.get(key)
            if found is None:  # what has an id in the key is kept, so that it stays its own
                found = calls[key] = (prepare(*arrays, **attrs), attrs, seen)
            if found[0] is not None:
                out = found[0](*arrays, *(attrs.values() if numbers else ()))
                if out is not NotImplemented:
                    return out
        return body(*arrays, **attrs)

    return call
