"""Downloads that can be resumed, are checked and appear whole; the cache of pretrained weights."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlparse

from .base.config import torch_home

__all__ = ["DownloadError", "download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

_LATER = {"help": "local_help", "list": "local_names", "load": "local_load", "tqdm": "tqdm"}


def __getattr__(name: str) -> Any:
    """Folders with a hubconf.py, loaded when they are first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from . import _hub_local

    return getattr(_hub_local, _LATER[name])


_CHUNK = 1 << 17
_TIMEOUT = 30.0
# resnet18-bfd8deac.pth: the file's name carries the beginning of its SHA-256.
HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")
_own_dir: str | None = None


class DownloadError(RuntimeError):
    """A file could not be fetched, or is not what was promised."""


def get_dir() -> str:
    """The folder of downloaded weights: `set_dir`'s, or `hub` in `TORCH_HOME` or in our own cache.

    Example:
        >>> import os
        >>> os.path.basename(torch.hub.get_dir())
        'hub'
    """
    return _own_dir or os.path.join(torch_home(), "hub")


def _get_torch_home() -> str:
    """The folder above `get_dir()`, by PyTorch's name."""
    return torch_home()


def set_dir(d: Any) -> None:
    """Keep downloaded weights in another folder.

    Args:
        d: a path; `~` is the home folder.

    Example:
        >>> before = torch.hub.get_dir()
        >>> torch.hub.set_dir("weights")
        >>> torch.hub.get_dir()
        'weights'
        >>> torch.hub.set_dir(before)
    """
    global _own_dir
    _own_dir = os.path.expanduser(os.fspath(d))


class Progress:
    """A bar on stderr that is rewritten on a terminal, and a line at the end elsewhere.

    Args:
        name: what is downloaded.
        total: bytes of the whole, None if nobody knows.
        done: bytes that are there already.
        show: False keeps quiet.

    Example:
        >>> from rushlight.hub import Progress
        >>> bar = Progress("net.pth", 1000, 0, show=False)
        >>> bar.add(500)
        >>> bar.done
        500
    """

    def __init__(self, name: str, total: int | None, done: int, show: bool) -> None:
        self.name, self.total, self.done, self.show = name, total, done, show
        self.live = show and sys.stderr.isatty()
        self.begun = self.last = time.monotonic()
        self.at_start = done

    def add(self, n: int) -> None:
        """Count `n` bytes more."""
        self.done += n
        now = time.monotonic()
        if self.live and now - self.last >= 0.1:
            self.last = now
            sys.stderr.write("\r" + self.line(now))
            sys.stderr.flush()

    def line(self, now: float) -> str:
        """The bar as text, at the time `now`."""
        speed = (self.done - self.at_start) / max(now - self.begun, 1e-3)
        if not self.total:
            return f"{self.name}: {_size(self.done)} {_size(speed)}/s"
        share = min(self.done / self.total, 1.0)
        bar = ("#" * round(30 * share)).ljust(30, ".")
        left = f", {(self.total - self.done) / speed:.0f} s left" if speed > 0 else ""
        return f"{self.name}: [{bar}] {100 * share:3.0f}% of {_size(self.total)}, {_size(speed)}/s{left}  "

    def end(self) -> None:
        """Write the last line."""
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


class _Unwritten(Exception):
    """The disk refused what was downloaded."""


def _open(url: str, start: int, tag: str | None) -> tuple[Any, int, int | None]:
    """The answer of the server, the byte it begins at, and the length of the whole file if it says so."""
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "rushlight"}
    if start:
        headers["Range"] = f"bytes={start}-"
        headers |= {} if tag is None else {"If-Range": tag}  # the whole, where it has changed
    try:
        answer = urlopen(Request(url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and start:  # nothing lies beyond what we have: begin anew
            error.close()
            return _open(url, 0, None)
        raise
    if answer.status != 206:
        length = answer.headers.get("Content-Length")
        if length is None or length.isdecimal():
            return answer, 0, None if length is None else int(length)
        answer.close()
        raise ConnectionError(f"the server says that the file has {length!r} bytes")
    found = re.match(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("Content-Range", ""))
    if found is not None and int(found[1]) == start:
        return answer, start, int(found[3])
    answer.close()
    if not start:
        raise ConnectionError("the server sends a part of the file that nobody asked for")
    return _open(url, 0, None)  # another part than what is missing


def _fetch(url: str, part: str, name: str, progress: bool, tag: str | None) -> str | None:
    """Fetch the rest of `url` into the file `part`; the server's word for this version of the file."""
    start = os.path.getsize(part) if os.path.exists(part) else 0
    answer, start, total = _open(url, start, tag)
    with answer:
        free = shutil.disk_usage(os.path.dirname(os.path.abspath(part))).free
        if total is not None and total - start > free:
            raise _Unwritten(f"{_size(total - start)} are to come, {_size(free)} are free")
        bar = Progress(name, total, start, progress)
        with _written(part, start) as write:
            while chunk := answer.read(_CHUNK):
                write(chunk)
                bar.add(len(chunk))
        tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
    bar.end()
    if total is not None and bar.done != total:
        raise _BrokenOff(bar.done, total, tag)
    return tag


class _BrokenOff(ConnectionError):
    """The connection ended too early."""

    def __init__(self, done: int, total: int, tag: str | None) -> None:
        super().__init__(f"the connection ended after {done} of {total} bytes")
        self.tag = tag


@contextmanager
def _written(part: str, start: int) -> Iterator[Callable[[bytes], None]]:
    """A function that writes into a file; what the disk refuses is no fault of the server's."""

    def done(act: Callable[..., Any], *args: Any) -> Any:
        try:
            return act(*args)
        except OSError as error:
            raise _Unwritten(error.strerror or str(error)) from None

    with done(open, part, "ab" if start else "wb", 0) as f:
        yield lambda chunk: _all(done, f, chunk)
        done(os.fsync, f.fileno())


def _all(done: Callable[..., Any], f: Any, chunk: bytes) -> None:
    """Write a chunk whole: a file without a buffer may take less."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[done(f.write, rest) :]


def digest(path: str, kind: str) -> str:
    """The checksum of a file, as hexadecimal text.

    Args:
        path: the file.
        kind: a name that `hashlib` knows, such as "sha256".

    Example:
        >>> import pathlib, tempfile
        >>> from rushlight.hub import digest
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "a.txt")
        ...     _ = file.write_text("hello")
        ...     digest(str(file), "md5")
        '5d41402abc4b2a76b9719d911017c592'
    """
    h = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as f:
        while chunk := f.read(1 << 20):
            h.update(chunk)
    return h.hexdigest()


def fetch_checked(
    url: str, path: str, right: Callable[[str], bool] | None, progress: bool = True, tries: int = 3
) -> None:
    """Download `url` to `path`: goes on where an earlier try broke off, and checks the whole.

    Until it is complete and right, the file is called `path` + ".part".

    Args:
        url: http, https or file.
        path: the file.
        right: given the path of what was downloaded; says whether it is what was wanted. None: nothing says so, and an
            earlier call's part is not gone on with.
        progress: show a bar on the terminal.
        tries: how often a connection that breaks off is taken up again.

    Raises:
        DownloadError: if the server cannot be reached, the disk refuses the file, or `right` says no.

    Example:
        >>> import pathlib, tempfile
        >>> from rushlight.hub import fetch_checked
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source, target = pathlib.Path(folder, "a.txt"), folder + "/b.txt"
        ...     _ = source.write_text("hello")
        ...     fetch_checked(source.as_uri(), target, lambda part: True, progress=False)
        ...     pathlib.Path(target).exists()
        True
    """
    part = path + ".part"
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if right is None and os.path.exists(part):
        os.unlink(part)  # perhaps of another version, and nobody could tell
    tag = None
    for attempt in range(tries):
        try:
            _fetch(url, part, os.path.basename(path), progress, tag)
            break
        except _Unwritten as error:
            if os.path.exists(part):
                os.unlink(part)
            raise DownloadError(f"{path} cannot be written: {error}") from None
        except HTTPError as error:
            error.close()  # it holds the connection
            raise DownloadError(f"{url} answers {error.code} {error.reason}") from None
        except (URLError, OSError, ValueError, HTTPException) as error:
            reason, tag = getattr(error, "reason", error), getattr(error, "tag", None)
            if attempt == tries - 1 or isinstance(error, (URLError, ValueError)):
                raise DownloadError(f"{url} cannot be reached: {reason}") from None
    if right is not None and not right(part):
        os.unlink(part)
        raise DownloadError(f"{url} sent a file whose checksum is wrong; it was thrown away")
    os.replace(part, path)


def download_url_to_file(url: str, dst: Any, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download `url` to the file `dst`, whose SHA-256 must begin with `hash_prefix`.

    A download that broke off goes on where it ended, an earlier call's only where there is a hash to check the whole;
    until the file is complete and right, it is called `dst` + ".part".

    Args:
        url: http, https or file.
        dst: the file.
        hash_prefix: how its SHA-256 begins, in hexadecimal; not checked if not given.
        progress: show a bar on the terminal.

    Raises:
        DownloadError: if the server cannot be reached, or the checksum is wrong.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source = pathlib.Path(folder, "source.txt")
        ...     _ = source.write_text("hello")
        ...     target = pathlib.Path(folder, "target.txt")
        ...     torch.hub.download_url_to_file(source.as_uri(), target, progress=False)
        ...     target.read_text()
        'hello'
    """

    def right(path: str) -> bool:
        return digest(path, "sha256").startswith(hash_prefix or "")

    check = None if hash_prefix is None else right
    fetch_checked(url, os.path.expanduser(os.fspath(dst)), check, progress)


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
    """The object saved at `url`, from the cache or downloaded into it.

    Args:
        url: http, https or file.
        model_dir: where files are kept; `get_dir()` + "/checkpoints" if not given.
        map_location: as in `torch.load`.
        progress: show a bar on the terminal.
        check_hash: the file's name ends in the beginning of its SHA-256, as in `net-bfd8deac.pth`: check it.
        file_name: how the file is called; as in `url` if not given.
        weights_only: accepted; files are always read safely.

    Raises:
        DownloadError: if it is not there and cannot be downloaded; it says where to place the file by hand.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     source = pathlib.Path(folder, "net.pth")
        ...     torch.save({"w": torch.ones(2)}, source)
        ...     torch.hub.load_state_dict_from_url(source.as_uri(), folder + "/kept", progress=False)
        {'w': tensor([1., 1.])}
    """
    from .io import load

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        found = HASH_REGEX.search(name) if check_hash else None
        try:
            download_url_to_file(url, path, found.group(1) if found else None, progress)
        except DownloadError as error:
            raise DownloadError(f"{error}. Without a network, place the file {name} in {folder} by hand.") from None
    return load(path, map_location=map_location)
