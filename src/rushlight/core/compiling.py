"""Where `compile` and modules meet: `capture` and `nn` each fill in their half, neither imports the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CompileLinks:
    """Functions that one of two neighbours has and the other calls."""

    compile: Callable[..., Any]  # from capture, which the top package loads at the first call
    around: Callable[[Any, Any], Any]  # from nn: a module around a module, whose calls are compiled


meeting = CompileLinks()


def again(model: Any, options: dict[str, Any]) -> Any:
    """What a copied or unpickled compiled function or module is made by."""
    return meeting.compile(model, **options)
