"""CIFAR-10 and CIFAR-100."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from ...hub import DownloadError
from ...io.errors import CorruptFileError
from ...io.machine import Machine
from ._arrays import ArrayDataset
from .utils import by_hand, check_integrity, download_url, unpack_members

_KINDS = {"u1": "u1", "i1": "i1", "i2": "<i2", "i4": "<i4", "i8": "<i8", "f4": "<f4", "f8": "<f8", "b1": "?"}


class _Kind:
    """A NumPy dtype named in the file: a plain number type, little-endian."""

    def __init__(self, name: Any, *ignored: Any) -> None:
        if name not in _KINDS:
            raise CorruptFileError(f"the file holds an array of {name!r}")
        self.dtype = np.dtype(_KINDS[name])

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) < 2 or state[1] not in ("<", "|", "="):
            raise CorruptFileError("the file holds an array of an unusual byte order")


class _Array:
    """An array in the making: NumPy's own reader is never shown the file's numbers unchecked."""

    def __init__(self, *ignored: Any) -> None:
        self.value: np.ndarray | None = None

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise CorruptFileError("the file holds a damaged array")
        _, shape, kind, fortran, raw = state
        self.value = _filled(shape, kind, raw, "F" if fortran else "C")


def _filled(shape: Any, kind: Any, raw: Any, order: Any) -> np.ndarray:
    if isinstance(raw, str):  # Python 2 wrote bytes as text
        raw = raw.encode("latin-1")
    sizes = isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape)
    if not sizes or len(shape) > 8 or not isinstance(kind, _Kind) or not isinstance(raw, bytes):
        raise CorruptFileError("the file holds a damaged array")
    if math.prod(shape) * kind.dtype.itemsize != len(raw):
        raise CorruptFileError("the file holds an array that does not fit its shape")
    return np.frombuffer(raw, kind.dtype).reshape(shape, order=order)


class _NdarrayType:
    """Stands for the class numpy.ndarray, which the file may name and not call."""


_NDARRAY = _NdarrayType()


def _encode(text: Any, encoding: Any = "latin1") -> bytes:
    """`_codecs.encode`, by which protocol 2 spells bytes."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
        raise CorruptFileError("the file encodes bytes in an unknown way")
    return text.encode("latin-1")


def _from_buffer(raw: Any, kind: Any, shape: Any, order: Any) -> _Array:
    made = _Array()
    made.value = _filled(shape, kind, raw, "F" if order == "F" else "C")
    return made


_NAMES: dict[tuple[str, str], Any] = {("numpy", "ndarray"): _NDARRAY, ("numpy", "dtype"): _Kind,
                                      ("_codecs", "encode"): _encode}  # fmt: skip
for _core in ("numpy.core", "numpy._core"):
    _NAMES[(f"{_core}.multiarray", "_reconstruct")] = _Array
    _NAMES[(f"{_core}.numeric", "_frombuffer")] = _from_buffer
_CALLABLE = (_Kind, _Array, _encode, _from_buffer)


def _find(module: str, name: str) -> Any:
    if (module, name) not in _NAMES:
        raise CorruptFileError(f"the file names {module}.{name}, which no dataset needs")
    return _NAMES[(module, name)]


def _call(fn: Any, args: tuple) -> Any:
    if not any(fn is allowed for allowed in _CALLABLE):
        raise CorruptFileError("the file calls something that is no function")
    return fn(*args)


def _persistent(ident: Any) -> Any:
    raise CorruptFileError("the file refers to another file")


def _build(obj: Any, state: Any) -> None:
    if not isinstance(obj, (_Kind, _Array)):
        raise CorruptFileError("the file gives a state to something that has none")
    obj.set_state(state)


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dict that a dataset's pickle holds; arrays are read-only. CorruptFileError otherwise."""

    def call(fn: Any, args: tuple) -> Any:
        if fn is _encode and args and isinstance(args[0], str):
            machine.budget.count_bytes(len(args[0]))
        return _call(fn, args)

    machine = Machine(memoryview(data), _find, call, _persistent, _build)
    found = machine.run()
    if not isinstance(found, dict):
        raise CorruptFileError("the file does not hold a dict")
    return {_text(k): v.value if isinstance(v, _Array) else v for k, v in found.items()}


def _text(key: Any) -> Any:
    return key.decode("latin-1") if isinstance(key, bytes) else key


# The largest published file has 155 MB; one that is much larger is none of them.
_MOST = 1 << 28


class CIFAR10(ArrayDataset):
    """60,000 colour pictures of 32x32 in ten classes.

    Files that lie under `root` in the published layout, unpacked or as the archive, are used as they
    are; otherwise `download=True` fetches the archive.

    Args:
        train: the pictures for training, or those for the test.
        transform, target_transform: functions of a picture and of a label.
        download: fetch the files if they are not there.

    Raises:
        RuntimeError: if the files are not there, or damaged.

    Example:
        >>> datasets.CIFAR10.base_folder
        'cifar-10-batches-py'
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

    data: np.ndarray
    targets: list[int]
    classes: list[str]
    class_to_idx: dict[str, int]

    def __init__(
        self,
        root: str | PathLike[str],
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        found = self._found(download, self._folder(), self._names())
        self.data, self.targets, self.classes = found
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}

    def _folder(self) -> str:
        return os.path.join(self.root, self.base_folder)

    def _names(self) -> list[str]:
        return [name for name, _ in self.train_list + self.test_list] + [self.meta["filename"]]

    def _find(self) -> tuple[np.ndarray, list[int], list[str]] | str:
        """Pictures, class numbers and class names from the files there are, or what is wrong."""
        here = os.path.isdir(self._folder())
        if here:
            try:
                return self._read()
            except (CorruptFileError, OSError) as error:
                wrong = str(error)
        archive = os.path.join(self.root, self.filename)
        if not os.path.isfile(archive):
            return wrong if here else f"there is no folder {self._folder()}"
        members = [f"{self.base_folder}/{name}" for name in self._names()]
        if not unpack_members(archive, str(self.root), members, _MOST):
            return f"{archive} is damaged"
        try:
            return self._read()
        except (CorruptFileError, OSError) as error:
            return str(error)

    def _read(self) -> tuple[np.ndarray, list[int], list[str]]:
        pictures: list[np.ndarray] = []
        targets: list[int] = []
        for name, _ in self.train_list if self.train else self.test_list:
            entry = self._entry(name)
            labels: Any = entry.get("labels", entry.get("fine_labels"))
            rows: Any = entry.get("data")
            if not _right_rows(rows) or not _right_labels(labels, len(rows)):
                raise CorruptFileError(f"{name} does not hold pictures and labels")
            pictures.append(rows)
            targets += labels
        classes = self._entry(self.meta["filename"]).get(self.meta["key"])
        if not isinstance(classes, list) or not all(isinstance(c, str) for c in classes):
            raise CorruptFileError(f"{self.meta['filename']} does not hold the names of classes")
        if targets and not 0 <= min(targets) <= max(targets) < len(classes):
            raise CorruptFileError("a label is not the number of a class")
        # A view with channels last, of memory with channels first: batches want them first.
        data = np.vstack(pictures).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return data, targets, classes

    def _entry(self, name: str) -> dict[str, Any]:
        path = os.path.join(self._folder(), name)
        if not os.path.isfile(path):
            raise CorruptFileError(f"{path} is missing")
        if os.path.getsize(path) > _MOST:
            raise CorruptFileError(f"{path} is too large")
        with open(path, "rb") as f:
            raw = f.read()
        try:
            return read_pickle(raw)
        except CorruptFileError as error:
            raise CorruptFileError(f"{path}: {error}") from None

    def _check_integrity(self) -> bool:
        """Whether the files of this split are there and well formed."""
        return not isinstance(self._find(), str)

    def download(self) -> None:
        """Fetch the archive and unpack it, unless the files are there."""
        if self._check_integrity():
            return
        archive = os.path.join(self.root, self.filename)
        if os.path.isfile(archive) and not check_integrity(archive, self.tgz_md5):
            os.replace(archive, archive + ".damaged")
        try:
            download_url(self.url, self.root, self.filename, self.tgz_md5)
        except (DownloadError, OSError) as error:
            files = [f"{self.filename} (or, in {self.base_folder}, {', '.join(self._names())})"]
            raise by_hand(type(self).__name__, error, self.root, files) from None
        members = [f"{self.base_folder}/{name}" for name in self._names()]
        unpack_members(archive, str(self.root), members, _MOST)


def _right_rows(rows: Any) -> bool:
    return (
        isinstance(rows, np.ndarray)
        and rows.dtype == np.uint8
        and rows.ndim == 2
        and rows.shape[0] > 0
        and rows.shape[1] == 3072
    )


def _right_labels(labels: Any, n: int) -> bool:
    return isinstance(labels, list) and len(labels) == n and all(type(k) is int for k in labels)


class CIFAR100(CIFAR10):
    """As `CIFAR10`: 60,000 colour pictures of 32x32 in a hundred classes."""

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
