"""Memory that several processes map: blocks behind a file descriptor, which can be sent to another process.

Small pieces share a block, since a process may keep only so many descriptors open. A block lives as long as
an array over it, in any process; nothing is left behind when a process is killed.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any

import numpy as np

from .locks import new_lock

_CHUNK = 1 << 20  # a block that many small pieces share
_SMALL = _CHUNK // 4
_ALIGNED = 64

_lock = new_lock()
_known: weakref.WeakValueDictionary[bytes, Block] = weakref.WeakValueDictionary()


class Block(mmap.mmap):
    """Memory behind the descriptor `fd`, which it closes; `key` is the same in every process."""

    fd: int
    key: bytes
    address: int

    def __new__(cls, fd: int, size: int, key: bytes | None = None) -> Block:
        block = super().__new__(cls, fd, size)
        block.fd = fd
        block.key = key or os.urandom(12)
        block.address = np.frombuffer(block, np.uint8, 1).ctypes.data
        return block

    def __del__(self, close: Any = os.close) -> None:
        fd = self.__dict__.pop("fd", None)
        if fd is not None:
            close(fd)


class _Chunk:
    """The block that small pieces are taken from; a forked child begins one of its own."""

    def __init__(self) -> None:
        self.owner, self.used = 0, 0
        self.block: Block | None = None

    def take(self, size: int) -> tuple[Block, int]:
        if self.block is None or self.owner != os.getpid() or self.used + size > _CHUNK:
            self.block, self.owner, self.used = _new(_CHUNK), os.getpid(), 0
        offset = self.used
        self.used += -(-size // _ALIGNED) * _ALIGNED
        return self.block, offset


_chunk = _Chunk()


def _new(size: int) -> Block:
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("rushlight")
    else:
        import tempfile  # with what it imports, a twentieth of the whole import

        fd, name = tempfile.mkstemp()
        os.unlink(name)
    os.truncate(fd, size)
    block = Block(fd, size)
    _known[block.key] = block
    return block


def take(size: int) -> tuple[Block, int]:
    """A block with `size` bytes that nobody uses, all zero, and where they begin in it."""
    with _lock:
        return _chunk.take(size) if size <= _SMALL else (_new(size), 0)


def join(fd: int, size: int, key: bytes) -> Block:
    """The block that another process sent; the same object each time while it lives."""
    with _lock:
        block = _known.get(key)
        if block is None:
            _known[key] = block = Block(fd, size, key)
        else:
            os.close(fd)
    return block


def mapped(a: Any) -> Any:
    """The mapping that an array's memory belongs to, or None."""
    base = getattr(a, "base", None)
    while base is not None and not isinstance(base, mmap.mmap):
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)
    return base
