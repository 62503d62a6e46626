"""Numbers, texts and tables of MATLAB 5 files, for the datasets that come in them; nothing in a file can run."""

from __future__ import annotations

import os
import struct
import zlib
from os import PathLike
from typing import Any

import numpy as np

from ...io.errors import CorruptFileError

# How numbers are stored, and the classes of arrays: numbers, texts, tables.
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8", 16: "u1", 17: "u2"}  # fmt: skip
_NUMBERS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_MATRIX, _PACKED = 14, 15
_CELL, _STRUCT, _CHAR = 1, 2, 4
_DEEPEST = 8  # tables in tables


def read_matlab(path: str | PathLike[str]) -> dict[str, Any]:
    """The variables of a file: arrays, texts, and tables as lists of dictionaries. CorruptFileError if it is none."""
    try:
        with open(path, "rb") as f:
            raw = f.read()
        return _Reader(raw, 100 * os.path.getsize(path) + (1 << 26)).variables()
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: {error}") from None
    except (struct.error, zlib.error, ValueError, IndexError, KeyError, MemoryError, OverflowError) as error:
        raise CorruptFileError(f"{path} is damaged ({type(error).__name__}: {error})") from None


class _Reader:
    """One file; `most` is what its packed parts may unpack to."""

    def __init__(self, raw: bytes, most: int) -> None:
        self.raw, self.most = raw, most
        if len(raw) < 128 or raw[126:128] not in (b"IM", b"MI"):
            raise CorruptFileError("not a file of MATLAB 5")
        self.order = "<" if raw[126:128] == b"IM" else ">"

    def variables(self) -> dict[str, Any]:
        found = {}
        for kind, body in self._elements(memoryview(self.raw)[128:]):
            if kind == _PACKED:
                ((kind, body),) = self._elements(memoryview(self._unpacked(body)))
            if kind == _MATRIX:
                name, value = self._matrix(body, 0)
                found[name] = value
        return found

    def _unpacked(self, body: memoryview) -> bytes:
        out = zlib.decompressobj().decompress(body, self.most)
        self.most -= len(out)
        if self.most <= 0:
            raise CorruptFileError("it unpacks to far more than its size")
        return out

    def _elements(self, view: memoryview) -> list[tuple[int, memoryview]]:
        """(kind, contents) of the elements that lie one after the other."""
        found, at = [], 0
        while at + 8 <= len(view):
            kind, size = struct.unpack_from(self.order + "II", view, at)
            if kind >> 16:  # a small one: its size and kind share four bytes, its contents follow
                kind, size = kind & 0xFFFF, kind >> 16
                start, after = at + 4, at + 8
                if size > 4:
                    raise CorruptFileError("an element is longer than its place")
            else:
                start, after = at + 8, at + 8 + size
                after += 0 if kind == _PACKED else -size % 8
            if start + size > len(view):
                raise CorruptFileError("it ends too early")
            found.append((kind, view[start : start + size]))
            at = after
        return found

    def _numbers(self, element: tuple[int, memoryview]) -> np.ndarray:
        return np.frombuffer(element[1], self.order + _STORED[element[0]])

    def _matrix(self, body: memoryview, depth: int) -> tuple[str, Any]:
        """(name, value) of an array."""
        if depth > _DEEPEST:
            raise CorruptFileError("its tables lie too deep in each other")
        parts = self._elements(body)
        if not parts:  # an empty part of a table
            return "", np.empty((0, 0))
        flags, shape, name = (self._numbers(p) for p in parts[:3])
        dims = [int(n) for n in shape]
        count = 1
        for n in dims:
            count *= n
        if not 1 <= len(dims) <= 8 or min(dims) < 0 or count > len(self.raw) * 100 + (1 << 26):
            raise CorruptFileError("the shape of an array is damaged")
        value = self._value(int(flags[0]) & 0xFF, dims, count, parts[3:], depth)
        return name.tobytes().decode("ascii"), value

    def _value(self, kind: int, dims: list[int], count: int, parts: list, depth: int) -> Any:
        if kind in _NUMBERS:
            flat = self._numbers(parts[0])
            if len(flat) != count:
                raise CorruptFileError("an array does not hold the numbers it promises")
            return flat.astype(_NUMBERS[kind]).reshape(dims, order="F")
        if kind == _CHAR:
            codes = self._numbers(parts[0]) if parts else np.empty(0, np.uint8)
            if parts and parts[0][0] == 16:
                return codes.tobytes().decode("utf-8")
            return "".join(map(chr, codes.tolist()))
        if kind == _CELL:
            return [self._matrix(body, depth + 1)[1] for _, body in parts[:count]]
        if kind != _STRUCT:
            raise CorruptFileError(f"it has an array of kind {kind}, which datasets do not have")
        length = int(self._numbers(parts[0])[0])
        names = [
            n.split(b"\0")[0].decode("ascii")
            for n in (bytes(parts[1][1][i : i + length]) for i in range(0, len(parts[1][1]), length))
        ]
        values = [self._matrix(body, depth + 1)[1] for _, body in parts[2:]]
        if not names or len(values) != count * len(names):
            raise CorruptFileError("a table does not hold the fields it promises")
        return [dict(zip(names, values[i : i + len(names)])) for i in range(0, len(values), len(names))]
