"""What tells the folder of a run from one with samples."""

from __future__ import annotations

import contextlib
import os

DEFAULT = os.path.join("runs", "train")  # the folder of a run
# These tell that a folder holds a run that could be lost; the second is there before the first epoch ends.
_MARKS = ("last.pth", "args.json")


def is_free(folder: str) -> bool:
    """Whether a folder has nothing of a run."""
    return not any(os.path.exists(os.path.join(folder, mark)) for mark in _MARKS)


def holds_runs(folder: str) -> bool:
    """Whether a folder is a run, or has runs in it, as `runs` has: none with samples of a class."""
    first, last = os.path.split(DEFAULT)
    begun = os.path.basename(folder) == first and os.path.isdir(os.path.join(folder, last))
    with contextlib.suppress(OSError):
        inner = [e.path for e in os.scandir(folder) if e.is_dir()]
        return begun or not all(map(is_free, (folder, *inner)))
    return False
