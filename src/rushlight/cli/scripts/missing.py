"""What to say when a script asks for a name that rushlight does not have."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from types import ModuleType, TracebackType

from ...base.tracebacks import is_ours
from . import alias


def explain(error: BaseException, trace: TracebackType | None) -> str | None:
    """`torch.foo is not in rushlight yet (script.py, line 12); nearest: ...`, or None for other errors."""
    asked = _asked(error)
    where = _users_line(trace)
    hidden = getattr(error, "name", None)
    if hidden in alias.COMPILED_FOR_PYTORCH and sys.modules.get(hidden, error) is None:
        return f"{hidden} needs the inside of PyTorch's own library; it counts as missing here ({where})"
    if asked is None or where is None:
        return None
    owner, name, known = asked
    text = f"{owner}.{name} {_status(owner, name)} ({where})"
    near = _nearest(name, known)
    return text + (f"; nearest: {', '.join(f'{owner}.{n}' for n in near)}" if near else "")


def _asked(error: BaseException) -> tuple[str, str, Iterable[str]] | None:
    """Which module the script asked for which name, and the names that it has instead."""
    if isinstance(error, ModuleNotFoundError):
        owner, _, name = (error.name or "").rpartition(".")
        parent = sys.modules.get(owner)
        if alias.target_of(owner) is None or parent is None:
            return None
        return owner, name, _modules_in(parent)
    if isinstance(error, ImportError):
        found = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
        module = sys.modules.get(found[2]) if found else None
        return (alias.alias_of(found[2]), found[1], dir(module)) if found and module else None
    if isinstance(error, AttributeError) and error.name:
        return _attribute_of(error.obj, error.name)
    return None


def _attribute_of(obj: object, name: str) -> tuple[str, str, Iterable[str]] | None:
    if isinstance(obj, ModuleType):
        home, label = obj.__name__, alias.alias_of(obj.__name__)
    else:
        kind = obj if isinstance(obj, type) else type(obj)
        home, label = kind.__module__, kind.__name__
    ours = home.partition(".")[0] in (alias.ALIASES["torch"], "torch")  # Tensor says torch
    return (label, name, dir(obj)) if ours else None


def _modules_in(package: ModuleType) -> list[str]:
    from pkgutil import iter_modules

    return [m.name for m in iter_modules(getattr(package, "__path__", []))]


def _status(owner: str, name: str) -> str:
    from ..._names.torch_names import NAMES

    known = NAMES.get(owner.removeprefix("torch.")) if owner.startswith("torch") else None
    # The lists hold public names only: of PyTorch's private ones nothing is known.
    if known is not None and name not in known.split() and not name.startswith("_"):
        return "is in neither PyTorch nor rushlight"
    return "is not in rushlight" if known is None else "is not in rushlight yet"


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.7)


def _users_line(trace: TracebackType | None) -> str | None:
    """`script.py, line 12`: the innermost place that is neither rushlight nor Python's import."""
    place = None
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if not is_ours(trace.tb_frame) and not file.startswith("<frozen "):
            place = f"{os.path.basename(file)}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place
