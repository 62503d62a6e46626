"""`compile(module)`: a module around the module, whose calls are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from ...core.compiling import again, meeting
from .module import Module

_OWN = frozenset(("_orig_mod", "_compiled", "_modules", "_parameters", "_buffers"))


class OptimizedModule(Module):
    """A module whose calls are compiled; all else is passed on to the module in `_orig_mod`."""

    def __init__(self, model: Module, compiled: Callable[..., Any]) -> None:
        super().__init__()
        self._orig_mod = model
        object.__setattr__(self, "_compiled", compiled)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["_modules"]["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    @property
    def training(self) -> bool:  # type: ignore[override]
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        self._orig_mod.training = value

    def __reduce__(self) -> Any:
        return again, (self._orig_mod, self._compiled.options())

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__reduce__()

    def program(self) -> Any:
        """Return the newest program; it can be printed."""
        return self._compiled.program()

    def draw(self, path: str) -> None:
        """Write the newest program as an SVG picture."""
        self._compiled.draw(path)


meeting.around = OptimizedModule
