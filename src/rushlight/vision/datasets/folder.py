"""DatasetFolder and ImageFolder: a folder for every class."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from typing import Any

from .._pillow import open_picture
from .vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a file's name ends in one of `extensions`, in capitals or not."""
    return filename.lower().endswith(extensions)


def is_image_file(filename: str) -> bool:
    """Whether a file's name is that of a picture."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | PathLike[str]) -> tuple[list[str], dict[str, int]]:
    """The names of the folders in `directory`, sorted, and their numbers."""
    try:
        classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    except FileNotFoundError:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}: no such folder.") from None
    except NotADirectoryError:
        raise NotADirectoryError(f"{directory} is a file, not a folder of class folders.") from None
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(
    directory: str | PathLike[str],
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """(path, class number) of every file that counts, in a fixed order."""
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        class_to_idx = find_classes(directory)[1]
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")
    if is_valid_file is None:
        ends: Any = extensions

        def is_valid_file(path: str) -> bool:
            return has_file_allowed_extension(path, ends)

    found: list[tuple[str, int]] = []
    empty = []
    for name in sorted(class_to_idx):
        folder = os.path.join(directory, name)
        before = len(found)
        for root, _, files in sorted(os.walk(folder, followlinks=True)):
            paths = (os.path.join(root, f) for f in sorted(files))
            found += [(p, class_to_idx[name]) for p in paths if is_valid_file(p)]
        if len(found) == before:
            empty.append(name)
    if empty and not allow_empty:
        said = f"Found no valid file for the classes {', '.join(sorted(empty))}. "
        if extensions is not None:
            listed = extensions if isinstance(extensions, str) else ", ".join(extensions)
            said += f"Supported extensions are: {listed}"
        raise FileNotFoundError(said)
    return found


class DatasetFolder(VisionDataset):
    """Samples from files in root/class_x/..., root/class_y/..., read by `loader`.

    Args:
        loader: a function from a path to a sample.
        extensions: endings of the files; or
        is_valid_file: a function that says whether a path is a sample.
        transform, target_transform: functions of a picture and of a label.
        allow_empty: accept a class without files.

    Raises:
        FileNotFoundError: if there is no class, or a class has no file.

    Example:
        >>> import os, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cat", "dog"):
        ...         os.mkdir(f"{folder}/{name}")
        ...         _ = pathlib.Path(folder, name, "a.txt").write_text(name)
        ...     data = datasets.DatasetFolder(folder, lambda path: pathlib.Path(path).read_text(), (".txt",))
        ...     data.classes, data[1]
        (['cat', 'dog'], ('dog', 1))
    """

    def __init__(
        self,
        root: str | PathLike[str],
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        self.extensions = extensions
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(self.root, self.class_to_idx, extensions, is_valid_file, allow_empty)
        self.targets = [number for _, number in self.samples]

    @staticmethod
    def make_dataset(
        directory: str | PathLike[str],
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """(path, class number) of every sample; a subclass may find them otherwise."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | PathLike[str]) -> tuple[list[str], dict[str, int]]:
        """The classes; a subclass may find them otherwise."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __len__(self) -> int:
        return len(self.samples)


def pil_loader(path: str) -> Any:
    """The picture of a file, in RGB."""
    with open(path, "rb") as f:
        return open_picture(f).convert("RGB")


def load_as_it_is(path: str) -> Any:
    """The picture of a file, in its own mode."""
    with open(path, "rb") as f:
        picture = open_picture(f)
        picture.load()
        return picture


def default_loader(path: str) -> Any:
    """What ImageFolder reads pictures with."""
    return pil_loader(path)


class ImageFolder(DatasetFolder):
    """Pictures in root/dog/xxx.png, root/cat/123.jpg, ...: a folder for every class.

    Args:
        transform, target_transform: functions of a picture and of a label.
        loader: a function from a path to a picture; Pillow's if not given.
        is_valid_file: a function that says whether a path is a picture.
        allow_empty: accept a class without files.

    Raises:
        FileNotFoundError: if there is no class, or a class has no file.

    Example:
        >>> import os, tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("cat", "dog"):
        ...         os.mkdir(f"{folder}/{name}")
        ...         Image.new("RGB", (4, 2)).save(f"{folder}/{name}/a.png")
        ...     data = datasets.ImageFolder(folder)
        ...     data.classes, data[1][1]
        (['cat', 'dog'], 1)
    """

    def __init__(
        self,
        root: str | PathLike[str],
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform=transform,
            target_transform=target_transform,
            is_valid_file=is_valid_file,
            allow_empty=allow_empty,
        )
        self.imgs = self.samples
