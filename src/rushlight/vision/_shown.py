"""Things that are shown as their name and some of their attributes."""

from __future__ import annotations

from operator import attrgetter

from ..nn import Module


class Shown:
    """Shown as its name and some attributes; of "a.b" the attribute b of a, under the name a."""

    _shows: tuple[str, ...] = ()
    _between = ", "

    def __repr__(self) -> str:
        said = [f"{name.partition('.')[0]}={attrgetter(name)(self)}" for name in self._shows]
        return f"{type(self).__name__}({self._between.join(said)})"


class ShownModule(Shown, Module):
    """The same for a module."""
