"""The named tuples that ops with several results return, printed as PyTorch prints them."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from ...base.config import settings
from ...core.public import NAMESPACES, publish


class NamedResult(tuple):
    """A tuple whose entries have names; each op has its own subclass."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *items: Any) -> Any:
        if len(items) == 1 and len(cls._fields) != 1:  # the spelling of PyTorch: one sequence
            items = tuple(items[0])
        if len(items) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(items)}-sequence given)")
        return tuple.__new__(cls, items)

    def __repr__(self) -> str:
        lines = [f"{name}={value!r}" for name, value in zip(self._fields, self)]
        return f"{settings.module}.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"

    def __reduce__(self) -> Any:
        return _rebuild, (type(self).__name__, tuple(self))


def _rebuild(name: str, items: tuple) -> NamedResult:
    return NAMESPACES["return_types"][name](*items)


def named(name: str, *fields: str) -> type:
    """The named tuple type of the op `name`."""
    body: dict[str, Any] = {f: property(itemgetter(i)) for i, f in enumerate(fields)}
    body.update(__slots__=(), _fields=fields, __match_args__=fields)
    made = type(name, (NamedResult,), body)
    made.__doc__ = f"The results of `{name}`: {', '.join(fields)}."
    publish("return_types", name, made)
    return made
