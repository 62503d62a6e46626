"""ImageNet: 1.3 million pictures in a thousand classes, from the archives of ILSVRC 2012 (Russakovsky et al. 2015)."""

from __future__ import annotations

import os
import shutil
import tempfile
from os import PathLike
from typing import Any

import numpy as np

from ...io import load, save
from ...io.errors import CorruptFileError
from ._matlab import read_matlab
from .folder import ImageFolder
from .utils import check_integrity, extract_archive, verify_str_arg

ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"


class ImageNet(ImageFolder):
    """The pictures of ILSVRC 2012; the archives have to be fetched by hand, and are unpacked at first use.

    Args:
        root: the folder of the archives, or of what was unpacked.
        split: "train" or "val".
        kwargs: `transform`, `target_transform`, `loader`, as of `ImageFolder`.

    Raises:
        RuntimeError: if an archive is not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import ImageNet
        >>> ImageNet("/nowhere")
        Traceback (most recent call last):
        RuntimeError: The archive ILSVRC2012_devkit_t12.tar.gz is not present in the root directory or is corrupted...
    """

    def __init__(self, root: str | PathLike[str], split: str = "train", **kwargs: Any) -> None:
        root = self.root = os.path.expanduser(root)
        self.split = verify_str_arg(split, "split", ("train", "val"))
        self.parse_archives()
        names = load_meta_file(root)[0]
        super().__init__(self.split_folder, **kwargs)
        self.root = root
        self.wnids, self.wnid_to_idx = self.classes, self.class_to_idx
        missing = [wnid for wnid in self.wnids if wnid not in names]
        if missing:
            raise CorruptFileError(f"{self.split_folder} has classes without a name: {missing[:3]}")
        self.classes = [names[wnid] for wnid in self.wnids]
        self.class_to_idx = {name: i for i, several in enumerate(self.classes) for name in several}

    def parse_archives(self) -> None:
        """Unpack what is not unpacked yet."""
        if not check_integrity(os.path.join(self.root, META_FILE)):
            parse_devkit_archive(self.root)
        if not os.path.isdir(self.split_folder):
            (parse_train_archive if self.split == "train" else parse_val_archive)(self.root)

    @property
    def split_folder(self) -> str:
        """The folder of the pictures."""
        return os.path.join(self.root, self.split)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"


def load_meta_file(root: str | PathLike[str], file: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """The names of classes by their WordNet numbers, and the classes of the pictures of "val"."""
    path = os.path.join(root, file or META_FILE)
    if not check_integrity(path):
        raise RuntimeError(
            f"The meta file {path} is not present in the root directory or is corrupted. "
            "This file is automatically created by the ImageNet dataset."
        )
    found = load(path, weights_only=True)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], dict) and isinstance(found[1], list)):
        raise CorruptFileError(f"{path} does not hold names of classes")
    return found


def _archive(root: str | PathLike[str], kind: str, file: str | None) -> str:
    """The path of an archive that is there and whole."""
    name, md5 = ARCHIVE_META[kind]
    name = file or name
    path = os.path.join(root, name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            f"The archive {name} is not present in the root directory or is corrupted. "
            f"You need to download it externally and place it in {root}."
        )
    return path


def _leaves(path: str) -> dict[int, tuple[str, tuple[str, ...]]]:
    """WordNet number and names of each class that has no classes below it."""
    rows = read_matlab(path).get("synsets")
    try:
        found = {}
        for row in rows or ():
            if int(np.asarray(row["num_children"]).item()) == 0:
                number = int(np.asarray(row["ILSVRC2012_ID"]).item())
                found[number] = (str(row["WNID"]), tuple(str(row["words"]).split(", ")))
        return found
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(f"{path} does not describe classes: {error}") from None


def parse_devkit_archive(root: str | PathLike[str], file: str | None = None) -> None:
    """Write `meta.bin` from the development kit."""
    path = _archive(root, "devkit", file)
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(path, folder)
        data = os.path.join(folder, "ILSVRC2012_devkit_t12", "data")
        try:
            leaves = _leaves(os.path.join(data, "meta.mat"))
            with open(os.path.join(data, "ILSVRC2012_validation_ground_truth.txt")) as f:
                wnids = [leaves[int(line)][0] for line in f if line.strip()]
        except (OSError, ValueError, KeyError) as error:
            raise CorruptFileError(f"{path} is damaged: {error}") from None
    save((dict(leaves.values()), wnids), os.path.join(root, META_FILE))


def parse_train_archive(root: str | PathLike[str], file: str | None = None, folder: str = "train") -> None:
    """Unpack the pictures of "train": an archive of archives, one for each class."""
    place = os.path.join(root, folder)
    extract_archive(_archive(root, "train", file), place)
    for name in sorted(os.listdir(place)):
        archive = os.path.join(place, name)
        extract_archive(archive, os.path.splitext(archive)[0], remove_finished=True)


def parse_val_archive(
    root: str | PathLike[str], file: str | None = None, wnids: list[str] | None = None, folder: str = "val"
) -> None:
    """Unpack the pictures of "val", and move each into the folder of its class."""
    classes = load_meta_file(root)[1] if wnids is None else wnids
    place = os.path.join(root, folder)
    extract_archive(_archive(root, "val", file), place)
    pictures = sorted(os.path.join(place, name) for name in os.listdir(place))
    for wnid in sorted(set(classes)):
        if os.path.basename(wnid) != wnid or wnid in ("", ".", ".."):
            raise CorruptFileError(f"{wnid!r} is no name of a class")
        os.mkdir(os.path.join(place, wnid))
    for wnid, picture in zip(classes, pictures):
        shutil.move(picture, os.path.join(place, wnid, os.path.basename(picture)))
