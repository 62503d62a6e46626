"""What values are, looked at without running any code of theirs: modules, optimisers, users' objects."""

from __future__ import annotations

import sys
from typing import Any

_PACKAGE = __name__.split(".")[0]
PLAIN = (bool, int, float, complex, str, bytes, type(None))
_SKIPPED = frozenset(("numpy", "cupy", "torch", "pytest", "_pytest", _PACKAGE))
# Parts of this package that stand where a user's code would.
_USERS = tuple([f"{_PACKAGE}.{part}" for part in ("cli", "vision", "dezero")])
MISSING = object()


class ClassDict:
    """A class's own attributes with the `get` of a dict."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def get(self, name: str, default: Any) -> Any:
        return vars(self.cls).get(name, default)


def is_module(value: Any) -> bool:
    own = getattr(value, "__dict__", None)
    return own is not None and "_parameters" in own and "_modules" in own


def is_optimizer(value: Any) -> bool:
    return hasattr(type(value), "step") and "param_groups" in getattr(value, "__dict__", ())


def is_scaler(value: Any) -> bool:
    return "_growth_tracker" in getattr(value, "__dict__", ())


def is_user_module(name: str, file: str | None = None) -> bool:
    """Whether code of this module may hold state worth watching: not ours, not the library's."""
    if name.startswith(_USERS):
        return True
    root = name.partition(".")[0]
    if root in _SKIPPED or (root in sys.stdlib_module_names and root != "__main__"):
        return False
    module = sys.modules.get(name)
    file = file or getattr(module, "__file__", None)
    return file is None or "site-packages" not in file


def peek(value: Any, name: str) -> Any:
    """An attribute without running any code for it."""
    own = getattr(value, "__dict__", None)
    if own is None:
        return MISSING
    if name in own:
        return own[name]
    for table in ("_modules", "_parameters", "_buffers"):
        if name in own.get(table, ()):
            return own[table][name]
    found = getattr(type(value), name, MISSING) if not isinstance(value, type) else MISSING
    return found if isinstance(found, PLAIN) else MISSING


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
        return a.hex() == b.hex()  # 0.0 equals -0.0, NaN not even itself
    if cls is complex:
        return equal(a.real, b.real) and equal(a.imag, b.imag)
    if cls is tuple:
        return len(a) == len(b) and all(map(equal, a, b))
    return cls in PLAIN and a == b


def hooks_on(node: Any) -> tuple:
    """How many hooks hang on a leaf's node."""
    if node is None:
        return ()
    pre, post = node.pre_hooks, getattr(node, "post_hooks", None)
    return (len(pre) if pre else 0, len(post) if post else 0)


def group_shape(o: Any) -> list[list]:
    """An optimiser's options, as far as they decide which kernels run: numbers by being zero."""
    return [
        [len(g["params"]), *[option(v) for k, v in g.items() if k not in _RATES]]
        for g in o.param_groups
    ]


# Schedules lead these through zero, and no rule looks whether they are.
_RATES = frozenset(("lr", "initial_lr", "max_lr", "min_lr"))


def option(value: Any) -> Any:
    cls = value.__class__
    if cls is float or cls is int:
        return value != 0
    return value if value is None or cls is bool or cls is str else None


def short(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    text = repr(value) if isinstance(value, PLAIN) else f"a {type(value).__name__}"
    return text if len(text) < 60 else text[:57] + "..."
