"""Flowers102: 8,189 pictures of flowers in 102 classes (Nilsback and Zisserman 2008)."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...io.errors import CorruptFileError
from ._matlab import read_matlab
from .folder import default_loader
from .utils import check_integrity, download_and_extract_archive, download_url, not_found, verify_str_arg
from .vision import Published


class Flowers102(Published):
    """Pictures of flowers of the United Kingdom.

    Args:
        root: the folder that holds `flowers-102`.
        split: "train", "val" or "test".
        transform: of the picture.
        target_transform: of the class number.
        download: fetch the files, and unpack the pictures.
        loader: a function from a path to a picture; Pillow's if not given.

    Raises:
        RuntimeError: if the files are not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import Flowers102
        >>> Flowers102("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it...
    """

    _counted = "_image_files"
    _download_url_prefix = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _file_dict = {
        "image": ("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        "label": ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        "setid": ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    }
    _splits_map = {"train": "trnid", "val": "valid", "test": "tstid"}
    classes = [
        "pink primrose", "hard-leaved pocket orchid", "canterbury bells", "sweet pea", "english marigold",
        "tiger lily", "moon orchid", "bird of paradise", "monkshood", "globe thistle", "snapdragon", "colt's foot",
        "king protea", "spear thistle", "yellow iris", "globe-flower", "purple coneflower", "peruvian lily",
        "balloon flower", "giant white arum lily", "fire lily", "pincushion flower", "fritillary", "red ginger",
        "grape hyacinth", "corn poppy", "prince of wales feathers", "stemless gentian", "artichoke", "sweet william",
        "carnation", "garden phlox", "love in the mist", "mexican aster", "alpine sea holly", "ruby-lipped cattleya",
        "cape flower", "great masterwort", "siam tulip", "lenten rose", "barbeton daisy", "daffodil", "sword lily",
        "poinsettia", "bolero deep blue", "wallflower", "marigold", "buttercup", "oxeye daisy", "common dandelion",
        "petunia", "wild pansy", "primula", "sunflower", "pelargonium", "bishop of llandaff", "gaura", "geranium",
        "orange dahlia", "pink-yellow dahlia?", "cautleya spicata", "japanese anemone", "black-eyed susan",
        "silverbush", "californian poppy", "osteospermum", "spring crocus", "bearded iris", "windflower",
        "tree poppy", "gazania", "azalea", "water lily", "rose", "thorn apple", "morning glory", "passion flower",
        "lotus", "toad lily", "anthurium", "frangipani", "clematis", "hibiscus", "columbine", "desert-rose",
        "tree mallow", "magnolia", "cyclamen", "watercress", "canna lily", "hippeastrum", "bee balm", "ball moss",
        "foxglove", "bougainvillea", "camellia", "mallow", "mexican petunia", "bromelia", "blanket flower",
        "trumpet creeper", "blackberry lily",
    ]  # fmt: skip

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._base_folder = Path(self.root) / "flowers-102"
        self._images_folder = self._base_folder / "jpg"
        if download:
            self.download()
        if not self._check_integrity():
            files = [name for name, _ in self._file_dict.values()]
            raise not_found(str(self._base_folder), files)
        numbers = self._row("setid", self._splits_map[split])
        labels = self._row("label", "labels")
        if numbers.size and not 1 <= numbers.min() <= numbers.max() <= len(labels):
            raise CorruptFileError(f"{self._base_folder} names pictures that have no label")
        self._labels = [int(labels[n - 1]) - 1 for n in numbers]
        self._image_files = [self._images_folder / f"image_{n:05d}.jpg" for n in numbers]
        self.loader = loader

    def _row(self, file: str, name: str) -> np.ndarray:
        path = self._base_folder / self._file_dict[file][0]
        found = read_matlab(path).get(name)
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "iuf":
            raise CorruptFileError(f"{path} lacks {name}")
        return found.astype(np.int64).reshape(-1)

    def _check_integrity(self) -> bool:
        files = (self._file_dict[kind] for kind in ("label", "setid"))
        right = all(check_integrity(self._base_folder / name, md5) for name, md5 in files)
        return right and self._images_folder.is_dir()

    def download(self) -> None:
        """Fetch the files that are missing, and unpack the pictures."""
        if self._check_integrity():
            return
        base, server = str(self._base_folder), self._download_url_prefix
        name, md5 = self._file_dict["image"]
        download_and_extract_archive(server + name, base, md5=md5)
        for kind in ("label", "setid"):
            name, md5 = self._file_dict[kind]
            download_url(server + name, base, md5=md5)

    def __getitem__(self, idx: int) -> tuple[Any, Any]:
        return self._sample(self.loader(self._image_files[idx]), self._labels[idx])

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
