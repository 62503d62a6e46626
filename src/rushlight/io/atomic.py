"""Atomic writes: a temporary file beside the target, flushed to disk, then renamed over it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows: nothing tells a dead writer's file from a living one's
    fcntl = None  # type: ignore[assignment]

_END = ".part"
_RANDOM = 8  # characters that mkstemp puts between name and end


@contextmanager
def atomic_write(path: Any, mode: str = "wb") -> Iterator[IO[Any]]:
    """Write to `path` as a whole: after a crash or on a full disk the old file is still there."""
    path = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {folder} does not exist.")
    prefix = "." + os.path.basename(path) + "."
    _collect(folder, prefix)
    handle, temporary = _create(folder, prefix)
    locked = -1
    try:
        with os.fdopen(handle, mode) as f:
            if fcntl is not None:
                locked = os.dup(handle)  # so that the lock lasts until the file has its name
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.chmod(temporary, _mode_of(path))
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise
    finally:
        if locked >= 0:
            os.close(locked)
    _sync_folder(folder)


def _create(folder: str, prefix: str) -> tuple[int, str]:
    """A new file that is locked while its writer lives; one that `_collect` took first is left to it."""
    while True:
        handle, temporary = tempfile.mkstemp(_END, prefix, folder)
        if fcntl is None:
            return handle, temporary
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: `_collect` cannot lock there either
            return handle, temporary
        if os.fstat(handle).st_nlink:
            return handle, temporary
        os.close(handle)


def _collect(folder: str, prefix: str) -> None:
    """Remove what killed writers of this file have left: the files that nobody holds locked."""
    if fcntl is None:
        return
    for name in os.listdir(folder):
        if not (name.startswith(prefix) and name.endswith(_END)):
            continue
        if len(name) != len(prefix) + _RANDOM + len(_END):
            continue
        left = os.path.join(folder, name)
        try:
            handle = os.open(left, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(left)
        except OSError:  # its writer lives
            pass
        finally:
            os.close(handle)


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
