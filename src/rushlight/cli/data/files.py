"""Files and folders of a data set in a fixed order, and what is made of them: which picture has which target."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from ..errors import UsageError
from ..tasks.classification import Classification
from .inputs import Inputs
from .marks import holds_runs


class Sample(NamedTuple):
    """A picture, its target (what that is the task says), and the part it belongs to ("" where we split).

    What is no picture has its content here, where it does not lie in a file of its own.
    """

    path: str
    target: Any
    part: str
    content: Any = None


class Listing(NamedTuple):
    """All pictures of a data set."""

    root: str
    samples: list[Sample]
    classes: list[str]  # the names of the task
    layout: str  # what was found, in words
    others: list[str]  # files that are no pictures
    notes: tuple[str, ...] = ()  # lines on what was left out already
    task: str = Classification.kind
    inputs: Inputs | None = None  # where these are no pictures

    @property
    def noun(self) -> str:
        """What one sample is called."""
        return "picture" if self.inputs is None else self.inputs.noun


def folders_in(path: str) -> list[str]:
    """The names of the folders inside, without hidden ones and those of runs."""
    try:
        inner = [e for e in os.scandir(path) if os.path.isdir(e.path) and not hidden(e.name)]
        return sorted(e.name for e in inner if not holds_runs(e.path))
    except OSError as error:
        raise UsageError(f"--data {path} cannot be read: {error.strerror or error}") from None


def hidden(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")


def _unreadable(error: OSError) -> NoReturn:
    """An error for a folder that cannot be read: its pictures must not be left out in silence."""
    raise UsageError(f"{error.filename} cannot be read: {error.strerror or error}") from None


def walk(folder: str) -> Iterator[str]:
    """All files under a folder, in a fixed order, through links but never twice through the same folder, nor upwards."""
    seen = set(_above(folder))
    for root, inner, files in os.walk(folder, onerror=_unreadable, followlinks=True):
        status = os.stat(root)
        if (status.st_dev, status.st_ino) in seen:
            inner.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        inner[:] = sorted(name for name in inner if not hidden(name))
        yield from (os.path.join(root, name) for name in sorted(files) if not hidden(name))


def _above(folder: str) -> Iterator[tuple[int, int]]:
    """The folders that hold a folder: a link back to one of them would lead to all the other classes."""
    here = os.path.realpath(folder)
    while here != (here := os.path.dirname(here)):
        status = os.stat(here)
        yield status.st_dev, status.st_ino
