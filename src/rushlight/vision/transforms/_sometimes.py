"""Changes of an image that come with a probability, in the first generation of transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shown import ShownModule
from ._draw import rand

if TYPE_CHECKING:
    from .._pillow import Picture


class ImageSometimes(ShownModule):
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
