"""Arguments of calls as keywords, by the signature of what is called."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["normalize_function"]


def normalize_function(target: Any, args: tuple, kwargs: dict | None = None, *more: Any, **options: Any) -> Any:
    """(args, kwargs) with every argument a keyword; None where the arguments do not fit."""
    try:
        bound = inspect.signature(target).bind(*args, **(kwargs or {}))
    except TypeError:
        return None
    return (), dict(bound.arguments)
