"""Annotations that are shown without quotes by `help`, `inspect.signature` and notebooks, though Python keeps them as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import FunctionType
from typing import Any

_PACKAGE = __name__.partition(".")[0]


class Shown(str):
    """An annotation in words: `int | None` where a plain string is shown as `'int | None'`."""

    __slots__ = ()
    __repr__ = str.__str__


_shown = lru_cache(1024)(Shown)  # a few hundred different ones


def plainly(fn: Callable[..., Any]) -> None:
    """Let the signature of a function be read as it was written."""
    said = fn.__annotations__
    for name, text in said.items():
        if text.__class__ is str:
            said[name] = _shown(text)


def show_plainly(found: Iterable[Any]) -> None:
    """The same for our functions among these, and for methods of classes."""
    given = list(found)
    functions = [f for f in given if isinstance(f, FunctionType)]
    for cls in {base for c in given if isinstance(c, type) for base in c.__mro__}:
        own = [getattr(f, "__func__", f) for f in vars(cls).values()]
        functions += [f for f in own if isinstance(f, FunctionType)]
    for fn in functions:
        home = (fn.__module__ or "", fn.__globals__.get("__name__", ""))
        if any(name.startswith(_PACKAGE) for name in home):  # the second of a context manager is contextlib
            plainly(fn)
