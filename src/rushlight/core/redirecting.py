"""Letting another function run in front of a public one, which keeps its identity: users hold it, and it is in several tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from .arming import copy_of

_TEXT = """
def outer({free}):
    def call(*args, **kwargs):
        return '?run'('?original', args, kwargs)
        {free}
"""


@lru_cache(32)
def _template(free: int) -> CodeType:
    """The code with as many free variables as the function has cells, which have to agree."""
    names = ", ".join([f"_{i}" for i in range(free)])
    with warnings.catch_warnings():
        # Python warns that a string is called; the text is only compiled, never run.
        warnings.simplefilter("ignore")
        module = compile(_TEXT.replace("{free}", names), __file__, "exec")
    outer: Any = next(c for c in module.co_consts if isinstance(c, CodeType))
    return next(c for c in outer.co_consts if isinstance(c, CodeType))


def redirect(fn: FunctionType, run: Callable[[Callable, tuple, dict], Any]) -> None:
    """Let `fn(*args, **kwargs)` be `run(original, args, kwargs)`, where `original` is the function as it was."""
    original = copy_of(fn)
    code = original.__code__
    template = _template(len(code.co_freevars))
    values = {"?run": run, "?original": original}
    consts = tuple([values.get(c, c) if isinstance(c, str) else c for c in template.co_consts])
    fn.__code__ = template.replace(
        co_consts=consts, co_name=code.co_name, co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )  # fmt: skip
    fn.__defaults__ = fn.__kwdefaults__ = None
    fn.__wrapped__ = original  # type: ignore[attr-defined]  # where `inspect` finds the signature
