"""TensorBoard's event files: protocol buffers in checked records, written without a library."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


def _crc_table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ 0x82F63B78 if n & 1 else n >> 1
        table.append(n)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum that the record format asks for."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """One record: length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


# -- protocol buffers: a field is its number and wire type, then the value -------------------------


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def integer(field: int, n: int) -> bytes:
    return _varint(field << 3) + _varint(n)


def double(field: int, x: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", x)


def single(field: int, x: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", x)


def message(field: int, data: bytes | str) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def doubles(field: int, values: Iterable[float]) -> bytes:
    return message(field, np.asarray(list(values), "<f8").tobytes())


# -- summaries -------------------------------------------------------------------------------------


def scalar(tag: str, value: float) -> bytes:
    """A summary with one number."""
    return message(1, message(1, tag) + single(2, value))


def image(tag: str, png: bytes, height: int, width: int, channels: int) -> bytes:
    """A summary with one encoded picture."""
    body = integer(1, height) + integer(2, width) + integer(3, channels) + message(4, png)
    return message(1, message(1, tag) + message(4, body))


def histogram(tag: str, values: np.ndarray, bins: Any, most: int | None = None) -> bytes:
    """A summary with the distribution of `values`."""
    values = values.astype(np.float64).ravel()
    counts, limits = np.histogram(values, bins="auto" if bins == "auto" else bins)
    if most is not None and len(counts) > most:  # so many at a time are one
        step = len(counts) // most
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    body = double(1, values.min()) + double(2, values.max()) + double(3, values.size)
    body += double(4, values.sum()) + double(5, float(values @ values))
    body += doubles(6, limits[1:]) + doubles(7, counts)
    return message(1, message(1, tag) + message(5, body))


def plugin(name: str, content: bytes = b"") -> bytes:
    """Which plugin a summary is for, and what it has to know."""
    return message(9, message(1, message(1, name) + (message(2, content) if content else b"")))


def text(tag: str, value: str) -> bytes:
    """A summary with a piece of Markdown."""
    shape = message(2, message(2, integer(1, 1)))
    tensor = integer(1, 7) + shape + message(8, value)
    return message(1, message(1, tag + "/text_summary") + plugin("text") + message(8, tensor))


def event(step: int, wall_time: float, summary: bytes) -> bytes:
    """One event of a run."""
    return double(1, wall_time) + integer(2, step) + message(5, summary)


class EventFile:
    """An append-only file of events."""

    def __init__(self, folder: str, suffix: str = "", purge_step: int | None = None) -> None:
        os.makedirs(folder, exist_ok=True)
        now = time.time()
        name = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}.{_next()}{suffix}"
        self.path = os.path.join(folder, name)
        self.file = open(self.path, "wb")  # noqa: SIM115 - closed by close()
        first = double(1, now) + (b"" if purge_step is None else integer(2, purge_step))
        self.file.write(record(first + message(3, "brain.Event:2")))
        if purge_step is not None:  # a session begins there: what older files say of later steps is hidden
            self.file.write(record(first + message(7, integer(1, 1))))
        self.file.flush()

    def add(self, step: int | None, summary: bytes, wall_time: float | None = None) -> None:
        at = time.time() if wall_time is None else wall_time
        self.file.write(record(event(0 if step is None else int(step), at, summary)))

    def add_summary(self, summary: bytes, global_step: int | None = None, walltime: float | None = None) -> None:
        """The same with PyTorch's names, for libraries that write summaries themselves."""
        self.add(global_step, summary, walltime)

    def add_graph(self, graph: bytes, wall_time: float | None = None) -> None:
        at = time.time() if wall_time is None else wall_time
        self.file.write(record(double(1, at) + message(4, graph)))

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        if not self.file.closed:
            self.file.close()


_made = 0


def _next() -> int:
    global _made
    _made += 1
    return _made - 1
