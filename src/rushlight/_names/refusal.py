"""Names of PyTorch's that rushlight keeps only to say what to do instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..base.errors import NotYet


def refuser(module: str, lacks: str, instead: str) -> Callable[[str], Callable[..., NoReturn]]:
    """Makes functions of `module` that raise: `refuser("fx", "has no tracer", "Use ...")("Graph")`."""

    def named(name: str) -> Callable[..., NoReturn]:
        def refuse(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotYet(f"{module}.{name}: rushlight {lacks}. {instead}")

        refuse.__name__ = refuse.__qualname__ = name
        refuse.__doc__ = f"Refused: rushlight {lacks}."
        setattr(refuse, "not_yet", True)  # tools/coverage_api.py counts it as missing
        return refuse

    return named
