"""Which names a function's code looks up, and on what: read from its bytecode."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR"))
_KEEPS = frozenset(("COPY", "PUSH_NULL", "CACHE", "EXTENDED_ARG", "RESUME"))


class Names(NamedTuple):
    """What one code object names.

    `paths` begin at a variable: ("global", "cfg", ("lr",)) for `cfg.lr`; an empty path is the variable
    itself. `loose` are attributes of values that are not known before the call.
    """

    paths: frozenset[tuple[str, str, tuple[str, ...]]]
    loose: frozenset[str]


@lru_cache(maxsize=4096)
def names_of(code: types.CodeType) -> Names:
    """The names in one code object, those of nested functions apart."""
    paths: set[tuple[str, str, tuple[str, ...]]] = set()
    loose: set[str] = set()
    root: tuple[str, str] | None = None
    path: tuple[str, ...] = ()
    for ins in dis.get_instructions(code):
        kind = _variable(ins.opname)
        if kind is not None:
            name = ins.argval[-1] if isinstance(ins.argval, tuple) else ins.argval
            root, path = (kind, name), ()
            paths.add((kind, name, ()))
        elif ins.opname in _ATTRIBUTES:
            if root is None:
                loose.add(ins.argval)
            else:
                path = (*path, ins.argval)
                paths.add((*root, path))
            if ins.opname in ("STORE_ATTR", "DELETE_ATTR"):
                root = None
        elif ins.opname not in _KEEPS:
            root = None
    return Names(frozenset(paths), frozenset(loose))


def _variable(opname: str) -> str | None:
    if opname.startswith("LOAD_FAST"):
        return "local"
    if opname in ("LOAD_GLOBAL", "LOAD_NAME"):
        return "global"
    return "cell" if opname in ("LOAD_DEREF", "LOAD_CLASSDEREF") else None


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)
