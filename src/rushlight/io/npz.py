"""Arrays of a .npz file, read within bounds and written whole."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np

from .atomic import atomic_write
from .errors import CorruptFileError

_BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, tokenize.TokenError, OSError,
    EOFError, ValueError, LookupError, TypeError, OverflowError, MemoryError, SyntaxError,
    NotImplementedError, RuntimeError, AttributeError, AssertionError, RecursionError,
)  # fmt: skip


def read_npz(path: Any, names: list[str], most: int = 1 << 32) -> list[np.ndarray]:
    """The arrays of these names, together no larger than `most` bytes; never a pickle."""
    path = os.fspath(path)
    if not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: '{path}'")
    try:
        with zipfile.ZipFile(path) as archive:
            infos = [archive.getinfo(name + ".npy") for name in names]
            if sum(info.file_size for info in infos) > most:
                raise CorruptFileError(f"{path} unpacks to more than {most} bytes")
            return [_read(archive, info) for info in infos]
    except CorruptFileError:
        raise
    except _BROKEN as error:
        raise CorruptFileError(f"{path} is damaged ({type(error).__name__}: {error})") from None


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
        if dtype.hasobject or any(n < 0 for n in shape):
            raise CorruptFileError(f"{info.filename} is no array of numbers")
        count = 1
        for n in shape:
            count *= n
        if count * dtype.itemsize > info.file_size:
            raise CorruptFileError(f"{info.filename} claims to be larger than it is")
        raw = member.read(count * dtype.itemsize)
    if len(raw) != count * dtype.itemsize:
        raise CorruptFileError(f"{info.filename} is truncated")
    flat = np.frombuffer(bytearray(raw), dtype) if count and dtype.itemsize else np.empty(shape, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def write_npz(path: Any, arrays: dict[str, Any]) -> None:
    """Write named arrays, compressed; the file is whole or not there."""
    with atomic_write(path) as f:
        np.savez_compressed(f, **arrays)
