"""Which names a function's code looks up, and on what: read from its bytecode."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ...base.spelling import home_of

_ATTRIBUTES = frozenset(
    ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD")
)
_KEEPS = frozenset(("COPY", "PUSH_NULL", "CACHE", "EXTENDED_ARG", "RESUME"))
_ENDS = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD"))
_CELLS = frozenset(
    ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF")
)
_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"))

_TEXT = ("FORMAT_", "CONVERT_VALUE")  # f-strings
_SHOWING = frozenset(("str", "repr", "ascii", "format", "print", "__str__", "__repr__", "__format__"))


class Names(NamedTuple):
    """What one code object names.

    `paths` begin at a variable: ("global", "cfg", ("lr",)) for `cfg.lr`; an empty path is the variable
    itself. `loose` are attributes of values that are not known before the call. `imports` are
    (level, module, names) of import statements. `by_identity`: it asks with `is` whether two values are one object.
    `shows`: it makes text of values. `raises_again`: it raises an error that may be its caller's.
    """

    paths: frozenset[tuple[str, str, tuple[str, ...]]]
    loose: frozenset[str]
    imports: frozenset[tuple[int, str, tuple[str, ...]]]
    by_identity: bool
    shows: bool
    raises_again: bool

    @property
    def all(self) -> set[str]:
        """Every name, of variables and attributes."""
        found = set(self.loose)
        for _, name, path in self.paths:
            found.add(name)
            found.update(path)
        return found


@lru_cache(maxsize=4096)
def names_of(code: types.CodeType, ran: frozenset[int] | None = None) -> Names:
    """The names in one code object, in the instructions that ran; those of nested functions apart."""
    paths: set[tuple[str, str, tuple[str, ...]]] = set()
    loose: set[str] = set()
    imports: set[tuple[int, str, tuple[str, ...]]] = set()
    root: tuple[str, str] | None = None
    path: tuple[str, ...] = ()
    instructions = list(_ran(code, ran))
    rebound: set[str] = set().union(*[_stored(i) for i in instructions])
    by_identity = False
    shows = any(ins.opname.startswith(_TEXT) or _is_modulo(ins) for ins in instructions)
    again = any(ins.opname == "RAISE_VARARGS" and not ins.arg for ins in instructions)
    for at, ins in enumerate(instructions):
        kind = _variable(ins.opname)
        if kind is not None:
            name = ins.argval[-1] if isinstance(ins.argval, tuple) else ins.argval
            root, path = (kind, name), ()
            if kind == "local" and name in rebound:
                root = None  # it may be anything by now
            else:
                paths.add((kind, name, ()))
        elif ins.opname in _ATTRIBUTES:
            if root is None or ins.is_jump_target:  # `(a if c else b).x` is of both
                loose.add(ins.argval)
                root = None
            else:
                path = (*path, ins.argval)
                paths.add((*root, path))
            if ins.opname in ("STORE_ATTR", "DELETE_ATTR"):
                root = None
        elif ins.opname == "IMPORT_NAME":
            level, wanted = instructions[at - 2].argval, instructions[at - 1].argval
            imports.add((level if isinstance(level, int) else 0, ins.argval, tuple(wanted or ())))
            root = None
        elif ins.opname == "MATCH_CLASS":  # `case Point(x=1)`: the names stand in a constant, others in the class
            named = instructions[at - 1].argval
            loose.update(named if isinstance(named, tuple) else ("__dict__",))
            if ins.arg:
                loose.update(("__match_args__", "__dict__"))
            root = None
        elif ins.opname not in _KEEPS:
            by_identity |= ins.opname == "IS_OP" and (ins.is_jump_target or not _is_only_one(instructions[at - 1]))
            root = None
    found = Names(frozenset(paths), frozenset(loose), frozenset(imports), by_identity, shows, again)
    names = found.all
    shows = shows or not _SHOWING.isdisjoint(names)
    return found._replace(shows=shows, raises_again=again or "__context__" in names)


def _ran(code: types.CodeType, ran: frozenset[int] | None) -> Iterator[Any]:
    """The instructions that ran: those that were noted, and what follows them without a jump."""
    goes_on = False
    for ins in dis.get_instructions(code):
        if ran is None or ins.offset in ran:
            goes_on = True
        elif ins.is_jump_target:
            goes_on = False
        if goes_on:
            yield ins
        if "JUMP" in ins.opname or ins.opname in _ENDS or ins.opname == "FOR_ITER":
            goes_on = False


def _is_modulo(ins: Any) -> bool:
    return ins.opname == "BINARY_OP" and ins.argrepr in ("%", "%=")


def _is_only_one(ins: Any) -> bool:
    """Whether an instruction gives None, True, False or ..., each of which is one object in any case."""
    return ins.opname == "LOAD_CONST" and any(ins.argval is v for v in (None, True, False, ...))


def _variable(opname: str) -> str | None:
    if opname.startswith("LOAD_FAST"):
        return "local"
    if opname in _GLOBALS:
        return "global"
    return "cell" if opname in _CELLS else None


def _stored(ins: Any) -> tuple:
    """The local variables that an instruction binds anew."""
    if "STORE_FAST" not in ins.opname:
        return ()
    return ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


# What a class does beside computing: how it is made, shown, filled and copied.
_APART = frozenset((
    "__init__", "__init_subclass__", "__repr__", "extra_repr", "reset_parameters", "__setstate__",
    "__getstate__", "_load_from_state_dict", "_save_to_state_dict", "__deepcopy__", "__copy__",
))  # fmt: skip


@lru_cache(maxsize=1024)
def attributes_used(cls: Any, root: str) -> frozenset[str]:
    """Attributes that the code of a class below `root` may look at, helpers in its files included."""
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__name__ == root:
            break
        members = [m for name, m in vars(base).items() if name not in _APART]
        home = home_of(base)
        file = vars(sys.modules.get(home, object))
        members += [m for m in file.values() if getattr(m, "__module__", "") == home]
        for member in members:
            member = getattr(member, "fget", None) or getattr(member, "__func__", member)
            while isinstance(getattr(member, "__wrapped__", None), types.FunctionType):
                member = member.__wrapped__
            if isinstance(member, types.FunctionType):
                for code in codes(member.__code__):
                    names = names_of(code)
                    found |= names.loose
                    for _, _, path in names.paths:
                        found.update(path)
    return frozenset(found)
