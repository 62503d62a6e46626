"""What to say of an argument whose name no function has: the names that are spelt like it, or all that there are.

Python 3.13 names one that is near by itself. Looked for when an error is printed, in the line that made the call.
"""

from __future__ import annotations

import ast
import linecache
import re
from itertools import islice
from textwrap import shorten
from types import ModuleType, TracebackType
from typing import Any

_UNKNOWN = re.compile(r"got an unexpected keyword argument '(\w+)'$")


def hint(error: BaseException) -> str | None:
    """`Did you mean 'bias'?`, or None where nothing can be said."""
    found = _UNKNOWN.search(str(error)) if type(error) is TypeError else None
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if found is None or trace is None:
        return None
    return next((said for said in (_of_call(c, found[1], trace) for c in _calls(trace)) if said), None)


def _calls(trace: TracebackType) -> list[ast.Call]:
    """The calls in the text that was running when the error came."""
    code = trace.tb_frame.f_code
    line, last, begin, end = next(islice(code.co_positions(), trace.tb_lasti // 2, None))
    if line is None or last is None or begin is None or end is None:
        return []
    lines = [linecache.getline(code.co_filename, n, trace.tb_frame.f_globals).encode() for n in range(line, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    try:
        tree = ast.parse(b"(" + b"".join(lines) + b")", mode="eval")
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def _of_call(call: ast.Call, name: str, trace: TracebackType) -> str | None:
    from difflib import get_close_matches
    from inspect import Parameter, signature

    if all(keyword.arg != name for keyword in call.keywords):
        return None
    called = _value(call.func, trace)
    if not callable(called):
        return None
    if not isinstance(called, type) and hasattr(type(called), "forward"):
        called = called.forward
    try:
        parameters = signature(called).parameters
    except (TypeError, ValueError):
        return None
    known = [n for n, p in parameters.items() if p.kind in (Parameter.KEYWORD_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    known = [n for n in known if n not in ("self", name)]
    if not known:
        return None
    near = get_close_matches(name, known, 2, 0.6)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return shorten(f"It takes: {', '.join(known)}", 200, placeholder=" ...")


def _value(node: ast.expr, trace: TracebackType) -> Any:
    """What a name, or an attribute of one, stands for where the error came; no code of anybody runs for it."""
    if isinstance(node, ast.Name):
        frame = trace.tb_frame
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, trace)
        if isinstance(owner, (ModuleType, type)):
            return getattr(owner, node.attr, None)
        children = getattr(owner, "__dict__", {}).get("_modules", {})
        return children.get(node.attr) or getattr(type(owner), node.attr, None)
    return None
