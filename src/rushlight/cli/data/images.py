"""What the command line knows of a data set: its parts, its task, its size, how its pixels are scaled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..tasks.classification import Classification
from ..tasks.task import Task, key_of
from .files import Listing
from .inputs import Inputs

# Of photographs: ImageNet's, which weights trained elsewhere expect.
PHOTO_SCALE = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Images:
    """What to train on, what chooses the best epoch, what is tested once, and what the network must know."""

    name: str
    train: Any
    val: Any  # None without a validation part
    test: Any
    task: Task
    channels: int
    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    counts: list[int] = field(default_factory=list)  # of the task's names, in training
    targets: list[Any] = field(default_factory=list)  # of the training pictures
    notes: list[str] = field(default_factory=list)  # lines that tell of the data
    problems: list[Any] = field(default_factory=list)  # what the scan left out
    honest: bool = True  # the test is apart from what chose the best epoch
    paths: list[str] = field(default_factory=list)  # of the test's pictures, where they are files
    fit: str | None = "crop"  # how pictures become squares
    stronger: Any = None  # the transform for training once it overfits, with `--augment auto`
    inputs: Inputs | None = None  # what the network reads, where these are no pictures

    @property
    def classes(self) -> list[str]:
        """What the network's outputs stand for."""
        return self.task.names

    @property
    def unit(self) -> str:
        """What several of them are called in the lines of a training."""
        return key_of(self.noun)

    @property
    def noun(self) -> str:
        """What one of them is called."""
        return self.task.noun


@dataclass(frozen=True)
class Source:
    """A data set that was found but not yet read: a name, or pictures in folders."""

    name: str
    listing: Listing | None

    @property
    def task(self) -> str:
        """The kind of its task; of named data sets it is always the same."""
        return Classification.kind if self.listing is None else self.listing.task

    @property
    def count(self) -> int | None:
        """How many pictures there are to train on, where that is known without reading."""
        if self.listing is None:
            return None
        return sum(s.part in ("", "train") for s in self.listing.samples)
