"""What values are, looked at without running any code of theirs, and tables to look at them again."""

from __future__ import annotations

import contextvars
import sys
import types
from abc import get_cache_token
from typing import Any

from .known import PACKAGE

PLAIN = (bool, int, float, complex, str, bytes, type(None))
_SKIPPED = frozenset(("numpy", "cupy", "torch", "pytest", "_pytest", PACKAGE))
# Parts of this package that stand where a user's code would.
_USERS = tuple([f"{PACKAGE}.{part}" for part in ("cli", "vision", "dezero")])
MISSING = object()


class Attributes:
    """An object's attributes with the `get` of a dict: of functions, slots and classes."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any) -> Any:
        return getattr(self.owner, name, default)


class RawAttributes(Attributes):
    """The same for classes that override how attributes are looked up."""

    def get(self, name: str, default: Any) -> Any:
        try:
            return object.__getattribute__(self.owner, name)
        except AttributeError:
            return default


class OfClass:
    """What a class says of itself (`__name__`, `__mro__`), with the `get` of a dict, whatever its metaclass makes of it."""

    def __init__(self, cls: type) -> None:
        self.owner = cls

    def get(self, name: str, default: Any) -> Any:
        return type.__dict__[name].__get__(self.owner)


class Handled:
    """The error that whoever calls is handling just now, with the `get` of a dict."""

    def get(self, name: str, default: Any) -> Any:
        return sys.exc_info()[1]


class InContext:
    """A context variable's value with the `get` of a dict."""

    def __init__(self, variable: contextvars.ContextVar[Any]) -> None:
        self.variable = variable

    def get(self, name: str, default: Any) -> Any:
        return self.variable.get(MISSING)


class AbstractClasses:
    """How often any abstract class took in another one, with the `get` of a dict."""

    def __init__(self) -> None:
        self.last = get_cache_token()

    def get(self, name: str, default: Any) -> Any:
        now = get_cache_token()
        if now != self.last:
            self.last = now
        return self.last  # the same object while nothing happens


class ClassDict:
    """What a class's objects find under a name, with the `get` of a dict: the raw member."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def get(self, name: str, default: Any) -> Any:
        return lookup(self.cls, name, default)


def lookup(cls: type, name: str, default: Any = MISSING) -> Any:
    """A member of a class or of one that it derives from, without binding it."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return default


def class_table(cls: type, name: str, member: Any) -> Any:
    """The quickest table that shows this member of a class."""
    binds = lookup(type(member), "__get__")
    if isinstance(binds, types.FunctionType):
        return ClassDict(cls)  # asking would run it
    if type(cls) is type and getattr(cls, name, MISSING) is member:
        return Attributes(cls)
    return ClassDict(cls)


def functions_in(member: Any) -> list[types.FunctionType]:
    """The functions behind a member of a class: a method, a property, what a decorator wraps."""
    if isinstance_of(member, types.FunctionType):
        return [member]
    names = ("fget", "fset", "fdel", "__func__", "func")
    if isinstance_of(member, (property, staticmethod, classmethod)):
        parts = [getattr(member, n, None) for n in names]
    else:  # whatever its class makes of being asked
        own = own_dict(member) or {}
        parts = [own.get(n) for n in names]
    return [p for p in parts if type(p) is types.FunctionType]


def other_parts(member: Any) -> list[Any]:
    """What a property or a method without a function has instead: something else that can be called."""
    if not isinstance_of(member, (property, staticmethod, classmethod)):
        return []
    parts = [getattr(member, n, None) for n in ("fget", "fset", "fdel", "__func__")]
    return [p for p in parts if p is not None and type(p) is not types.FunctionType]


def isinstance_of(value: Any, kinds: Any) -> bool:
    """`isinstance` without asking the object: a class with a `__getattribute__` of its own would run it."""
    return issubclass(type(value), kinds)


def own_dict(value: Any) -> Any:
    """An object's own attributes, whatever its class makes of being asked; None if it has none."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def unwrapped(fn: Any) -> list[Any]:
    """A function and those it was wrapped around."""
    found = [fn]
    while isinstance(getattr(found[-1], "__wrapped__", None), types.FunctionType):
        if found[-1].__wrapped__ in found:
            break
        found.append(found[-1].__wrapped__)
    return found


def is_module(value: Any) -> bool:
    own = own_dict(value)
    return own is not None and "_parameters" in own and "_modules" in own


def is_optimizer(value: Any) -> bool:
    return hasattr(type(value), "step") and "param_groups" in (own_dict(value) or ())


def is_scaler(value: Any) -> bool:
    return "_growth_tracker" in (own_dict(value) or ())


def is_user_module(name: str, file: str | None = None) -> bool:
    """Whether code of this module is most likely a user's: what the first recording looks at."""
    if name.startswith(_USERS):
        return True
    root = name.partition(".")[0]
    if root in _SKIPPED or (root in sys.stdlib_module_names and root != "__main__"):
        return False
    module = sys.modules.get(name)
    file = file or getattr(module, "__file__", None)
    return file is None or "site-packages" not in file


def is_trusted(name: str) -> bool:
    """Whether a module is this package's or NumPy's, whose code is not read."""
    return name.partition(".")[0] in _SKIPPED and not name.startswith(_USERS)


def peek(value: Any, name: str) -> Any:
    """An attribute without running any code for it."""
    if issubclass(type(value), types.ModuleType) and is_trusted(value.__name__):
        return getattr(value, name, MISSING)  # names of ours that are looked up when asked for
    own = own_dict(value)
    if issubclass(type(value), type):
        return lookup(value, name)
    if own is not None:
        if name in own:
            return own[name]
        for table in ("_modules", "_parameters", "_buffers"):
            held = own.get(table)
            if isinstance_of(held, dict) and name in held:
                return held[name]
    found = lookup(type(value), name)
    if isinstance(found, types.MemberDescriptorType):
        return found.__get__(value) if slot_is_set(found, value) else MISSING
    return MISSING if functions_in(found) or hasattr(type(found), "__get__") else found


def slot_is_set(member: Any, value: Any) -> bool:
    try:
        member.__get__(value)
    except AttributeError:
        return False
    return True


def content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def equal(a: Any, b: Any) -> bool:
    """Whether two plain values are one and the same to any code; other objects must be identical."""
    if a is b:
        return True
    cls = a.__class__
    if cls is not b.__class__:
        return False
    if cls is float:
        # 0.0 equals -0.0; two NaNs are two objects to whoever looks for one in a list.
        return a == b and a.hex() == b.hex()
    if cls is complex:
        return equal(a.real, b.real) and equal(a.imag, b.imag)
    if cls is tuple:
        return len(a) == len(b) and all(map(equal, a, b))
    return cls in PLAIN and a == b


def look_of_array(a: Any) -> tuple:
    """Everything that code can see of a NumPy array."""
    return a.shape, a.dtype, a.strides, a.flags.writeable, a.tobytes()


def hooks_on(node: Any) -> tuple:
    """The hooks that hang on a leaf's node."""
    if node is None:
        return ()
    pre, post = node.pre_hooks, getattr(node, "post_hooks", None)
    return (tuple(pre.values()) if pre else (), tuple(post.values()) if post else ())


def group_shape(o: Any) -> list[list]:
    """An optimiser's options, as far as they decide which kernels run: numbers by being zero."""
    told = getattr(type(o), "in_kernels", ())  # those whose values kernels were told for good
    return [
        [len(g["params"]), *[v if k in told else option(v) for k, v in g.items() if k not in _RATES]]
        for g in o.param_groups
    ]


# Schedules set these to zero for a while, and no update rule branches on that.
_RATES = frozenset(("lr", "initial_lr", "max_lr", "min_lr"))


def option(value: Any) -> Any:
    cls = value.__class__
    if cls is float or cls is int:
        return value != 0
    return value if value is None or cls is bool or cls is str else None


def short(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    text = repr(value) if type(value) in PLAIN else f"a {type(value).__name__}"
    return text if len(text) < 60 else text[:57] + "..."
