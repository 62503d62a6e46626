"""Exchanging the code of a public function, which keeps its identity: users hold it, and it is in several tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

_TEXT = """
def outer({free}):
    def call(*args, **kwargs):
        return '?run'('?original', args, kwargs)
        {free}
"""


def redirect(fn: FunctionType, run: Callable[[Callable, tuple, dict], Any]) -> None:
    """Let `fn(*args, **kwargs)` be `run(original, args, kwargs)`, where `original` is the function as it was."""
    original = copy_of(fn)
    exchange_code(fn, original, _TEXT, {"?run": run, "?original": original})


def copy_of(fn: FunctionType) -> FunctionType:
    made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = fn.__kwdefaults__
    made.__annotations__ = fn.__annotations__
    made.__qualname__, made.__doc__, made.__module__ = fn.__qualname__, fn.__doc__, fn.__module__
    made.__dict__.update(fn.__dict__)
    return made


def exchange_code(fn: FunctionType, original: FunctionType, text: str, values: dict[str, Any]) -> None:
    """Give `fn` the code of `text`, whose strings that are in `values` stand for those."""
    code = original.__code__
    template = _template(text, len(code.co_freevars))
    consts = tuple([values.get(c, c) if isinstance(c, str) else c for c in template.co_consts])
    fn.__code__ = template.replace(
        co_consts=consts, co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno
    )
    fn.__defaults__ = fn.__kwdefaults__ = None
    fn.__wrapped__ = original  # type: ignore[attr-defined]  # where `inspect` finds the signature


@lru_cache(32)
def _template(text: str, free: int) -> CodeType:
    """The code with as many free variables as the function has cells, which have to agree."""
    names = ", ".join([f"_{i}" for i in range(free)])
    with warnings.catch_warnings():
        # Python warns that a string is called; the text is only compiled, never run.
        warnings.simplefilter("ignore")
        module = compile(text.replace("{free}", names), __file__, "exec")
    outer: Any = next(c for c in module.co_consts if isinstance(c, CodeType))
    return next(c for c in outer.co_consts if isinstance(c, CodeType))
