"""Downloads that can be resumed, are checked and appear whole; the cache of pretrained weights."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Callable
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse

from .base.config import settings

__all__ = [
    "DownloadError",
    "download_url_to_file",
    "get_dir",
    "load_state_dict_from_url",
    "set_dir",
]

_CHUNK = 1 << 17
_TIMEOUT = 30.0
# resnet18-bfd8deac.pth: the file's name carries the beginning of its SHA-256.
HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")
_own_dir: str | None = None


class DownloadError(RuntimeError):
    """A file could not be fetched, or is not what was promised."""


def get_dir() -> str:
    """The folder of downloaded weights."""
    return _own_dir or os.path.join(settings.cache_dir, "hub")


def _get_torch_home() -> str:
    """The folder above `get_dir()`, by PyTorch's name."""
    return settings.cache_dir


def set_dir(d: Any) -> None:
    """Keep downloaded weights in another folder."""
    global _own_dir
    _own_dir = os.path.expanduser(os.fspath(d))


class Progress:
    """A bar on stderr that is rewritten on a terminal, and a line at the end elsewhere."""

    def __init__(self, name: str, total: int | None, done: int, show: bool) -> None:
        self.name, self.total, self.done, self.show = name, total, done, show
        self.live = show and sys.stderr.isatty()
        self.begun = self.last = time.monotonic()
        self.at_start = done

    def add(self, n: int) -> None:
        self.done += n
        now = time.monotonic()
        if self.live and now - self.last >= 0.1:
            self.last = now
            sys.stderr.write("\r" + self.line(now))
            sys.stderr.flush()

    def line(self, now: float) -> str:
        speed = (self.done - self.at_start) / max(now - self.begun, 1e-3)
        if not self.total:
            return f"{self.name}: {_size(self.done)} {_size(speed)}/s"
        share = min(self.done / self.total, 1.0)
        bar = ("#" * round(30 * share)).ljust(30, ".")
        left = f", {(self.total - self.done) / speed:.0f} s left" if speed > 0 else ""
        return f"{self.name}: [{bar}] {100 * share:3.0f}% of {_size(self.total)}, {_size(speed)}/s{left}  "

    def end(self) -> None:
        if self.live:
            sys.stderr.write("\r" + self.line(time.monotonic()) + "\n")
        elif self.show:
            sys.stderr.write(f"{self.name}: {_size(self.done)} downloaded\n")


def _size(n: float) -> str:
    for unit in ("B", "kB", "MB"):
        if n < 1000:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1000
    return f"{n:.1f} GB"


def _open(url: str, start: int) -> tuple[Any, int]:
    """The answer of the server, and the byte it begins at."""
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "rushlight"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        answer = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and start:  # nothing lies beyond what we have: begin anew
            error.close()
            return _open(url, 0)
        raise
    return answer, start if answer.status == 206 else 0


def _fetch(url: str, part: str, name: str, progress: bool) -> None:
    """Fetch the rest of `url` into the file `part`."""
    start = os.path.getsize(part) if os.path.exists(part) else 0
    answer, start = _open(url, start)
    with answer, open(part, "ab" if start else "wb") as f:
        length = answer.headers.get("Content-Length")
        total = None if length is None else int(length) + start
        bar = Progress(name, total, start, progress)
        while chunk := answer.read(_CHUNK):
            f.write(chunk)
            bar.add(len(chunk))
        f.flush()
        os.fsync(f.fileno())
    bar.end()
    if total is not None and bar.done != total:
        raise ConnectionError(f"the connection ended after {bar.done} of {total} bytes")


def digest(path: str, kind: str) -> str:
    """The checksum of a file, as hexadecimal text."""
    h = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as f:
        while chunk := f.read(1 << 20):
            h.update(chunk)
    return h.hexdigest()


def fetch_checked(
    url: str, path: str, right: Callable[[str], bool], progress: bool = True, tries: int = 3
) -> None:
    """Download `url` to `path`: goes on where an earlier try broke off, and checks the whole.

    Until it is complete and right, the file is called `path` + ".part".
    """
    part = path + ".part"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    for attempt in range(tries):
        try:
            _fetch(url, part, os.path.basename(path), progress)
            break
        except HTTPError as error:
            raise DownloadError(f"{url} answers {error.code} {error.reason}") from None
        except (URLError, OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            if attempt == tries - 1 or isinstance(error, (URLError, ValueError)):
                raise DownloadError(f"{url} cannot be reached: {reason}") from None
    if not right(part):
        os.unlink(part)
        raise DownloadError(f"{url} sent a file whose checksum is wrong; it was thrown away")
    os.replace(part, path)


def download_url_to_file(
    url: str, dst: Any, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download `url` to the file `dst`, whose SHA-256 must begin with `hash_prefix`."""

    def right(path: str) -> bool:
        return hash_prefix is None or digest(path, "sha256").startswith(hash_prefix)

    fetch_checked(url, os.path.expanduser(os.fspath(dst)), right, progress)


_download_url_to_file = download_url_to_file  # its name in old scripts


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """The object saved at `url`, from the cache or downloaded into it."""
    from .io import load

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        try:
            download_url_to_file(url, path, found.group(1) if found else None, progress)
        except DownloadError as error:
            raise DownloadError(
                f"{error}. Without a network, place the file {name} in {folder} by hand."
            ) from None
    return load(path, map_location=map_location)
