"""Downloads and archives of datasets, under torchvision's names."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from ...hub import DownloadError, digest, fetch_checked
from ...io.atomic import atomic_write
from ...io.errors import CorruptFileError

__all__ = [
    "calculate_md5", "check_integrity", "check_md5", "download_and_extract_archive",
    "download_file_from_google_drive", "download_url", "extract_archive", "verify_str_arg",
]  # fmt: skip


def calculate_md5(fpath: str | PathLike[str], chunk_size: int = 1 << 20) -> str:
    """The MD5 of a file."""
    return digest(os.fspath(fpath), "md5")


def check_md5(fpath: str | PathLike[str], md5: str, **kwargs: Any) -> bool:
    """Whether a file has this MD5."""
    return md5 == calculate_md5(fpath, **kwargs)


def check_integrity(fpath: str | PathLike[str], md5: str | None = None) -> bool:
    """Whether a file is there, with this MD5 if one is given."""
    return os.path.isfile(fpath) and (md5 is None or check_md5(fpath, md5))


def download_url(
    url: str | Iterable[str],
    root: str | PathLike[str],
    filename: str | None = None,
    md5: str | None = None,
    max_redirect_hops: int = 3,
) -> None:
    """Download to root/filename from the first of the given addresses that serves the right file."""
    urls = [url] if isinstance(url, str) else list(url)
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or os.path.basename(urls[0]))
    if check_integrity(path, md5):
        return
    reasons = []
    for address in urls:
        try:
            check = None if md5 is None else lambda p: check_integrity(p, md5)
            return fetch_checked(address, path, check)
        except DownloadError as error:
            reasons.append(str(error))
    raise DownloadError("; ".join(reasons))


def download_file_from_google_drive(
    file_id: str, root: str | PathLike[str], filename: str | None = None, md5: str | None = None
) -> None:
    """Download a file of Google Drive to root/filename, by the package `gdown`."""
    try:
        import gdown
    except ModuleNotFoundError:
        raise RuntimeError(
            "To download files from GDrive, 'gdown' is required. You can install it with 'pip install gdown'."
        ) from None
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or file_id)
    if check_integrity(path, md5):
        return
    os.makedirs(root, exist_ok=True)
    gdown.download(id=file_id, output=path, quiet=False)
    if not check_integrity(path, md5):
        raise RuntimeError("File not found or corrupted.")


# -- archives ------------------------------------------------------------------------------------


_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, ValueError, LookupError, OverflowError, MemoryError, NotImplementedError, RuntimeError,
)  # fmt: skip


# Errors over a name that no file can have there: a file as a folder, a folder as a file, one too long.
_NAMES = (errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


def _most_unpacked(source: str) -> int:
    """What an archive may unpack to; those of real datasets grow less than twenty times."""
    return 100 * os.path.getsize(source) + (1 << 26)


def _check_size(source: str, sizes: Iterable[int]) -> None:
    left = _most_unpacked(source)
    for size in sizes:
        left -= size
        if left < 0:
            raise CorruptFileError(f"{source} unpacks to far more than its size")


def _extract_tar(source: str, to_path: str) -> None:
    with tarfile.open(source) as tar:
        _check_size(source, (member.size for member in tar))
        tar.extractall(to_path, filter="data")  # refuses links and paths that lead outside


def _extract_zip(source: str, to_path: str) -> None:
    with zipfile.ZipFile(source) as archive:
        _check_size(source, (info.file_size for info in archive.infolist()))
        archive.extractall(to_path)


_ARCHIVE_EXTRACTORS = {".tar": _extract_tar, ".zip": _extract_zip}
_COMPRESSED_FILE_OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
_FILE_TYPE_ALIASES = {".tbz": (".tar", ".bz2"), ".tbz2": (".tar", ".bz2"), ".tgz": (".tar", ".gz")}


def _detect_file_type(file: str | PathLike[str]) -> tuple[str, str | None, str | None]:
    """The end of a file's name, and what it says: the kind of archive, the kind of compression."""
    *_, before, last = ["", "", *(s.lower() for s in Path(file).suffixes)]
    if last in _FILE_TYPE_ALIASES:
        return (last, *_FILE_TYPE_ALIASES[last])
    if last in _ARCHIVE_EXTRACTORS:
        return last, last, None
    if last not in _COMPRESSED_FILE_OPENERS:
        raise RuntimeError(f"File '{file}' has no suffixes that could be used to detect the archive type.")
    return (before + last, before, last) if before in _ARCHIVE_EXTRACTORS else (last, None, last)


def _decompress(from_path: Any, to_path: str | PathLike[str] | None = None, remove_finished: bool = False) -> Any:
    """Unpack one file; where it lies then."""
    ending, archive, compression = _detect_file_type(from_path)
    if compression is None or archive is not None:
        raise RuntimeError(f"Couldn't detect a compression from the ending {ending}.")
    source = os.fspath(from_path)
    target = source.removesuffix(ending) if to_path is None else os.fspath(to_path)
    left = _most_unpacked(source)
    with _COMPRESSED_FILE_OPENERS[compression](source) as f, atomic_write(target) as out:
        while piece := f.read(1 << 20):
            left -= len(piece)
            if left < 0:
                raise CorruptFileError(f"{source} unpacks to far more than its size")
            out.write(piece)
    if remove_finished:
        os.remove(source)
    return type(from_path)(target) if isinstance(from_path, Path) else target


def extract_archive(from_path: Any, to_path: Any = None, remove_finished: bool = False) -> Any:
    """Unpack a .tar, .tar.gz, .tgz, .tar.xz, .zip, .gz, .bz2 or .xz; returns where its contents lie."""
    source = os.fspath(from_path)
    target = os.path.dirname(source) if to_path is None else os.fspath(to_path)
    ending, archive, _ = _detect_file_type(source)
    os.makedirs(target or ".", exist_ok=True)
    try:
        if archive is None:
            target = os.path.join(target, os.path.basename(source)[: -len(ending)])
            _decompress(source, target, remove_finished=remove_finished)
        else:
            _ARCHIVE_EXTRACTORS[archive](source, target)
            if remove_finished:
                os.remove(source)
    except (*_BROKEN, OSError) as error:
        of_the_disk = isinstance(error, OSError) and error.errno not in (None, *_NAMES)
        if isinstance(error, CorruptFileError) or of_the_disk:
            raise
        raise CorruptFileError(f"{source} is damaged ({type(error).__name__}: {error})") from None
    return Path(target) if isinstance(from_path, Path) else target


def download_and_extract_archive(
    url: str | Iterable[str],
    download_root: str | PathLike[str],
    extract_root: str | PathLike[str] | None = None,
    filename: str | None = None,
    md5: str | None = None,
    remove_finished: bool = False,
) -> None:
    """Download an archive and unpack it."""
    root = os.path.expanduser(download_root)
    name = filename or os.path.basename(url if isinstance(url, str) else next(iter(url)))
    download_url(url, root, name, md5)
    extract_archive(os.path.join(root, name), extract_root or root, remove_finished)


def unpack_members(archive: str, root: str, names: Iterable[str], most: int) -> bool:
    """Unpack these plain files of a tar archive, none larger than `most`; False if one is missing."""
    wanted = set(names)
    furthest = 4 * most  # what lies before a member is unpacked to get to it
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.offset_data + member.size > furthest:
                    return False
                if member.name in wanted and member.isfile() and member.size <= most:
                    path = os.path.join(root, member.name)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    content = tar.extractfile(member)
                    assert content is not None
                    with atomic_write(path) as out:
                        shutil.copyfileobj(content, out)
                    wanted.discard(member.name)
    except (*_BROKEN, OSError) as error:
        if isinstance(error, PermissionError):
            raise
        return False
    return not wanted


def read_gzip(path: str, most: int) -> bytes:
    """The contents of a .gz file, at most `most` bytes and one more."""
    with gzip.open(path) as f:
        return f.read(most + 1)


def by_hand(name: str, error: Exception | None, folder: str, files: Iterable[str]) -> RuntimeError:
    """The error of a dataset that cannot be downloaded: where its files may be placed instead."""
    said = f"{name} could not be downloaded ({error}). " if error else ""
    listed = ", ".join(files)
    return RuntimeError(f"{said}Without a network, place these files in {os.path.abspath(folder)} by hand: {listed}")


def not_found(folder: str, files: Iterable[str], why: str = "", state: str = "not found or corrupted") -> RuntimeError:
    """The error of a dataset whose files are not there, or damaged."""
    reason = f" ({why}). " if why else ". "
    said = f"Dataset {state}. You can use download=True to download it{reason}"
    return RuntimeError(said + str(by_hand("", None, folder, files)))


def verify_str_arg(
    value: object, arg: str | None = None, valid_values: Iterable[str] | None = None, custom_msg: str | None = None
) -> Any:
    """A text that is one of the permitted ones, or a ValueError that lists them."""
    said = "" if arg is None else f" for argument {arg}"
    if not isinstance(value, str):
        raise ValueError(f"Expected type str{said}, but got type {type(value)}.")
    if valid_values is not None and value not in (allowed := list(valid_values)):
        known = "{" + ", ".join(map(repr, allowed)) + "}"
        raise ValueError(custom_msg or f"Unknown value '{value}'{said}. Valid values are {known}.")
    return value
