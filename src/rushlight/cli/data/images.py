"""What the command line knows of a data set: its parts, its classes, its size, how its pixels are scaled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .listing import Listing

# Of photographs: ImageNet's, which weights trained elsewhere expect.
PHOTO_SCALE = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Images:
    """What to train on, what chooses the best epoch, what is tested once, and what the network must know."""

    name: str
    train: Any
    val: Any  # None without a validation part
    test: Any
    classes: list[str]
    channels: int
    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    counts: list[int] = field(default_factory=list)  # of the classes, in training
    notes: list[str] = field(default_factory=list)  # lines that tell of the data
    problems: list[Any] = field(default_factory=list)  # what the scan left out
    honest: bool = True  # the test is apart from what chose the best epoch
    paths: list[str] = field(default_factory=list)  # of the test's pictures, where they are files
    fit: str = "crop"  # how pictures become squares
    stronger: Any = None  # the transform for training once it overfits, with `--augment auto`


@dataclass(frozen=True)
class Source:
    """A data set that was found but not yet read: a name, or pictures in folders."""

    name: str
    listing: Listing | None

    @property
    def count(self) -> int | None:
        """How many pictures there are to train on, where that is known without reading."""
        if self.listing is None:
            return None
        return sum(s.part in ("", "train") for s in self.listing.samples)
