"""Atomic writes: a temporary file beside the target, flushed to disk, then renamed over it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any


@contextmanager
def atomic_write(path: Any, mode: str = "wb") -> Iterator[IO[Any]]:
    """Write to `path` as a whole: after a crash or on a full disk the old file is still there."""
    path = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    handle, temporary = tempfile.mkstemp(prefix="." + os.path.basename(path) + ".", dir=folder)
    try:
        with os.fdopen(handle, mode) as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    _sync_folder(folder)


def _mode_of(path: str) -> int:
    """The permissions of the file that is replaced, or those a new file gets."""
    try:
        return os.stat(path).st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable; some file systems cannot, and say so with an OSError."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
