"""Decoded pictures, kept so that epochs after the first need not decode: in memory, on disk, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from typing import Any, NamedTuple

import numpy as np

from ...base.config import settings
from ..errors import UsageError
from .pictures import open_picture, shrink

KINDS = ("auto", "memory", "disk", "none")
FORMAT = 1  # of the file on disk; raised when pictures are prepared otherwise
# A picture is about 4:3; what is kept of it has this many bytes per side squared.
_BYTES = 3 * 4 / 3
# The share of free memory, and of free disk, that a cache may take.
_MEMORY, _DISK = 0.25, 0.5


class Entry(NamedTuple):
    """What is known of a file: enough to see that it has not changed, and where its pixels lie."""

    size: int
    changed: int
    digest: str
    offset: int
    high: int
    wide: int


class Undecoded:
    """No cache: every access reads the file."""

    label = "none: every epoch decodes the files (--cache none)"

    def __init__(self, side: int) -> None:
        self.side = side
        self.paths: list[str] = []

    def known(self, path: str) -> Entry | None:
        return None

    def add(self, path: str, entry: Entry, pixels: np.ndarray | None) -> None:
        self.paths.append(path)

    def close(self) -> None:
        """Nothing to end."""

    def __getitem__(self, i: int) -> np.ndarray:
        return np.asarray(shrink(open_picture(self.paths[i]), self.side))


class InMemory:
    """Pictures as arrays of this process; worker processes share them."""

    def __init__(self, side: int) -> None:
        self.pixels: list[np.ndarray] = []

    def known(self, path: str) -> Entry | None:
        return None

    def add(self, path: str, entry: Entry, pixels: np.ndarray | None) -> None:
        assert pixels is not None
        self.pixels.append(pixels)

    def close(self) -> None:
        """Nothing to end."""

    @property
    def label(self) -> str:
        return f"memory, {sum(p.nbytes for p in self.pixels) / 2**20:,.1f} MB"

    def __getitem__(self, i: int) -> np.ndarray:
        return self.pixels[i]


class OnDisk:
    """Pictures in one file of the cache folder, with an index; later runs find them there.

    A run that finds changed pictures writes a new file and puts the new index in the old one's place, so
    that runs which still read the old pixels are not disturbed.
    """

    def __init__(self, side: int, root: str) -> None:
        key = f"{FORMAT} {side} {os.path.abspath(root)}"
        key = hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()[:20]
        self.folder = os.path.join(settings.cache_dir, "pictures", key)
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--cache disk: {self.folder}: {error.strerror}; set RUSHLIGHT_CACHE") from None
        self.old, self.before = self._read_index()
        self.index: dict[str, Entry] = {}
        self.order: list[Entry] = []
        self.name = f"pixels-{uuid.uuid4().hex[:12]}.bin"
        self.file: Any = None
        self.end = 0
        self.map: np.ndarray | None = None

    def _read_index(self) -> tuple[dict[str, Entry], str]:
        """Entries by path and the pixels' file; empty where there is none that fits."""
        try:
            with open(os.path.join(self.folder, "index.json"), encoding="utf-8") as f:
                content = json.load(f)
            entries = {path: Entry(*entry) for path, entry in content["entries"].items()}
            pixels = os.path.join(self.folder, os.path.basename(content["pixels"]))
            least = max((e.offset + e.high * e.wide * 3 for e in entries.values()), default=0)
            if content["format"] != FORMAT or os.path.getsize(pixels) < least:
                return {}, ""
            return entries, pixels
        except (OSError, ValueError, TypeError, LookupError, AttributeError):
            return {}, ""

    def known(self, path: str) -> Entry | None:
        """The entry of a file that has not changed since."""
        entry = self.old.get(os.path.abspath(path))
        if entry is None:
            return None
        try:
            status = os.stat(path)
        except OSError:
            return None
        return entry if (status.st_size, status.st_mtime_ns) == entry[:2] else None

    def add(self, path: str, entry: Entry, pixels: np.ndarray | None) -> None:
        if self.file is None:
            self.file = open(os.path.join(self.folder, self.name), "wb")  # noqa: SIM115 - closed below
        if pixels is None:
            pixels = self._view(self._mapped(self.before), entry)
        try:
            self.file.write(np.ascontiguousarray(pixels).data)
        except OSError as error:
            self.file.close()
            os.unlink(self.file.name)
            raise UsageError(f"--cache disk: {error.strerror}; try --cache none or --cache memory") from None
        entry = entry._replace(offset=self.end)
        self.end += pixels.nbytes
        self.index[os.path.abspath(path)] = entry
        self.order.append(entry)

    def close(self) -> None:
        """Keep the old file where nothing is new, or else let the new one take its place."""
        from rushlight.io import atomic_write

        if self.file is None:
            return
        self.file.close()
        same = self.before and {p: e._replace(offset=0) for p, e in self.old.items()} == {
            p: e._replace(offset=0) for p, e in self.index.items()
        }
        if same:
            os.unlink(self.file.name)
            self.order = [self.old[path] for path in self.index]
            self.map = self._mapped(self.before)
            return
        content = {"format": FORMAT, "pixels": self.name, "entries": self.index}
        with atomic_write(os.path.join(self.folder, "index.json"), "w") as f:
            json.dump(content, f)
        self.map = self._mapped(os.path.join(self.folder, self.name))
        if self.before:
            os.unlink(self.before)

    def _mapped(self, path: str) -> np.ndarray:
        if self.map is None or getattr(self, "mapped", None) != path:
            self.map, self.mapped = np.memmap(path, np.uint8, "r"), path
        return self.map

    def _view(self, pixels: np.ndarray, e: Entry) -> np.ndarray:
        return pixels[e.offset : e.offset + e.high * e.wide * 3].reshape(e.high, e.wide, 3)

    @property
    def label(self) -> str:
        return f"disk, {self.end / 2**20:,.1f} MB in {self.folder}"

    def __getitem__(self, i: int) -> np.ndarray:
        assert self.map is not None
        return self._view(self.map, self.order[i])


def make_store(kind: str, side: int, count: int, root: str) -> Any:
    """The cache that was asked for; "auto" decides by what is free."""
    if kind == "auto":
        need = count * side * side * _BYTES
        if need < _MEMORY * free_memory():
            kind = "memory"
        else:
            kind = "disk" if need < _DISK * _free_disk() else "none"
    if kind == "memory":
        return InMemory(side)
    return OnDisk(side, root) if kind == "disk" else Undecoded(side)


def free_memory() -> float:
    """Bytes that can be had without swapping; 2 GiB where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as f:
            for line in f:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024.0
    except (OSError, ValueError, IndexError):
        pass
    return 2.0**31


def _free_disk() -> float:
    folder = settings.cache_dir
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or "/"
    return float(shutil.disk_usage(folder).free)
