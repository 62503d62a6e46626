"""Arguments of calls as keywords, by the signature of what is called."""

from __future__ import annotations

import inspect
from typing import Any

from .node import ArgsKwargsPair

__all__ = ["ArgsKwargsPair", "normalize_function"]


def normalize_function(
    target: Any, args: tuple, kwargs: dict | None = None, arg_types: tuple | None = None, kwarg_types: dict | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """All arguments of a call by its signature, the defaults too; None where they do not fit it."""
    try:
        bound = inspect.signature(target).bind(*args, **(kwargs or {}))
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    first = 0 if normalize_to_only_use_kwargs else len(args)
    named = list(bound.arguments.items())
    return ArgsKwargsPair(tuple(value for _, value in named[:first]), dict(named[first:]))
