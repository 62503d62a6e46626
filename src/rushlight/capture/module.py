"""`compile(module)`: a module around the module, whose calls are compiled."""

from __future__ import annotations

from typing import Any

_made: list[type] = []


def optimized_module(model: Any, compiled: Any) -> Any:
    """A Module that owns `model` as `_orig_mod` and answers every other question as it would."""
    if not _made:
        _made.append(_make_class())
    return _made[0](model, compiled)


def _make_class() -> type:
    from ..nn import Module  # a sibling: looked up when it is needed

    class OptimizedModule(Module):
        """A module whose calls are recorded and replayed."""

        def __init__(self, model: Any, compiled: Any) -> None:
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

        def train(self, mode: bool = True) -> Any:
            super().train(mode)
            return self

        def program(self) -> Any:
            """The newest program, printable."""
            return self._compiled.program()

        def draw(self, path: str) -> None:
            """Write the newest program as an SVG picture."""
            self._compiled.draw(path)

    return OptimizedModule
