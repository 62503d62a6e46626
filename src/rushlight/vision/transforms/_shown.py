"""What transforms of the first generation share: how they are shown, and changes that come with a probability."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...nn import Module
from ._draw import rand

if TYPE_CHECKING:
    from .._pillow import Picture


class Shown:
    """Shown as its name and some attributes; of "a.b" the attribute b of a, under the name a."""

    _shows: tuple[str, ...] = ()
    _between = ", "

    def __repr__(self) -> str:
        said = [f"{name.partition('.')[0]}={attrgetter(name)(self)}" for name in self._shows]
        return f"{type(self).__name__}({self._between.join(said)})"


class ShownModule(Shown, Module):
    """The same for a module."""


class Sometimes(ShownModule):
    """One function of the image, with probability p."""

    _between = ","
    _functional: Any
    _given: tuple[str, ...] = ()  # attributes that are arguments of it

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._shows = (*cls._given, "p")

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Picture) -> Any:
        if rand().item() < self.p:
            return type(self)._functional(img, *[getattr(self, name) for name in self._given])
        return img
