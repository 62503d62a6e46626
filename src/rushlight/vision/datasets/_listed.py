"""Datasets of picture files that a folder or a short text lists: one class for what they share, a few lines for each."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from ...io.errors import CorruptFileError
from ._matlab import read_matlab
from .folder import IMG_EXTENSIONS, default_loader, find_classes, load_as_it_is, make_dataset
from .utils import download_and_extract_archive, not_found, verify_str_arg
from .vision import Published

Samples = list[tuple[Any, Any]]


_TOLD = """

    Args:
        root: the folder that holds `{home}`.{split}
        transform, target_transform: of the picture and of the class number.
        download: fetch and unpack the archives.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import {name}
        >>> {name}("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it ...
    """
_SPLIT = """
        split: one of {}."""


class Listed(Published):
    """Picture files with targets, below `_home` in the root; a subclass lists them."""

    _counted = "_samples"
    _home = ""
    _below = False  # whether archives unpack into `_home`, not into the root
    _archives: tuple[tuple[str, str | None], ...] = ()  # addresses and their MD5
    _splits: tuple[str, ...] = ("train", "val", "test")
    classes: list[Any]
    class_to_idx: dict[str, int]

    def __init_subclass__(cls) -> None:
        """What the arguments are is told once, for all that are told in one sentence."""
        super().__init_subclass__()
        if cls._home and cls.__doc__ and "Args:" not in cls.__doc__:
            parts = _SPLIT.format(", ".join(cls._splits)) if issubclass(cls, ListedSplit) else ""
            cls.__doc__ += _TOLD.format(home=cls._home, split=parts, name=cls.__name__)

    def _list(self, home: Path) -> Samples:
        """(path, target) of every picture."""
        raise NotImplementedError

    def _open(self, root: Any, transform: Any, target_transform: Any, download: bool, loader: Any) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.loader = loader
        home = Path(self.root) / self._home
        try:
            if download:
                for address, md5 in self._archives:
                    place = str(home if self._below else self.root)
                    download_and_extract_archive(address, place, md5=md5)
            self._samples = self._list(home)
        except (FileNotFoundError, NotADirectoryError) as error:
            names = [os.path.basename(address) for address, _ in self._archives]
            raise not_found(self.root, names, str(error), state="not found") from None
        except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            raise CorruptFileError(f"a list of {home} is damaged: {error}") from None

    def _name(self, classes: list[Any]) -> dict[str, int]:
        self.classes, self.class_to_idx = classes, dict(zip(classes, range(len(classes))))
        return self.class_to_idx

    def _in_folders(self, place: Path, endings: Any = IMG_EXTENSIONS) -> Samples:
        """A folder for every class."""
        self.classes, self.class_to_idx = find_classes(place)
        return list(make_dataset(place, self.class_to_idx, endings))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self._samples[index]
        return self._sample(self.loader(path), target)

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}" if hasattr(self, "_split") else ""


class ListedWhole(Listed):
    """Picture files without a split."""

    def __init__(
        self, root: str | PathLike[str], transform: Callable | None = None, target_transform: Callable | None = None,
        download: bool = False, loader: Callable[[Any], Any] = default_loader,
    ) -> None:  # fmt: skip
        self._open(root, transform, target_transform, download, loader)


class ListedSplit(Listed):
    """Picture files of one split."""

    def __init__(
        self, root: str | PathLike[str], split: str = "train", transform: Callable | None = None,
        target_transform: Callable | None = None, download: bool = False, loader: Callable[[Any], Any] = default_loader,
    ) -> None:  # fmt: skip
        self._split = verify_str_arg(split, "split", self._splits)
        self._open(root, transform, target_transform, download, loader)


class EuroSAT(ListedWhole):
    """Satellite pictures of ten kinds of land (Helber et al. 2019)."""

    _home, _below = "eurosat", True
    _archives = (("https://huggingface.co/datasets/torchgeo/eurosat/resolve/c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
                  "c8fa014336c82ac7804f0398fcb19387"),)  # fmt: skip

    def _list(self, home: Path) -> Samples:
        return self._in_folders(home / "2750")


class SUN397(ListedWhole):
    """Scenes of 397 kinds (Xiao et al. 2010)."""

    _home = "SUN397"
    _archives = (("http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz", "8ca2778205c41d23104230ba66911c7a"),)

    def _list(self, home: Path) -> Samples:
        names = (home / "ClassName.txt").read_text().splitlines()
        number = self._name([name[3:].strip() for name in names])  # "/a/abbey" stands for "abbey"
        found = sorted(home.rglob("sun_*.jpg"))
        return [(p, number["/".join(p.relative_to(home).parts[1:-1])]) for p in found]


class Caltech256(ListedWhole):
    """Things of 256 kinds (Griffin et al. 2007)."""

    _home, _below = "caltech256", True
    _archives = (("https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
                  "67b4f42ca05d46448c6bb8ecd2220f6d"),)  # fmt: skip

    def _list(self, home: Path) -> Samples:
        found = self._in_folders(home / "256_ObjectCategories", ".jpg")
        self.categories, self.y = self.classes, [number for _, number in found]
        return found


class Food101(ListedSplit):
    """Pictures of 101 dishes (Bossard et al. 2014)."""

    _home, _splits = "food-101", ("train", "test")
    _archives = (("http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz", "85eeb15f3717b99a5da872d97d918f87"),)

    def _list(self, home: Path) -> Samples:
        listed = json.loads((home / "meta" / f"{self._split}.json").read_text("utf-8"))
        number = self._name(sorted(listed))
        pairs = [(file, kind) for kind, files in listed.items() for file in files]
        return [(str(home / "images" / f"{file}.jpg"), number[kind]) for file, kind in pairs]


class Country211(ListedSplit):
    """Pictures of 211 countries (Radford et al. 2021)."""

    _home, _splits = "country211", ("train", "valid", "test")
    _archives = (("https://openaipublic.azureedge.net/clip/data/country211.tgz", "84988d7644798601126c29e9877aab6a"),)

    def _list(self, home: Path) -> Samples:
        return self._in_folders(home / self._split)


class RenderedSST2(ListedSplit):
    """Sentences of reviews as pictures, negative and positive (Radford et al. 2021)."""

    _home = "rendered-sst2"
    _archives = (("https://openaipublic.azureedge.net/clip/data/rendered-sst2.tgz",
                  "2384d08e9dcfa4bd55b324e610496ee5"),)  # fmt: skip

    def _list(self, home: Path) -> Samples:
        return self._in_folders(home / self._split.replace("val", "valid"), ".png")


class CLEVRClassification(ListedSplit):
    """Drawn scenes, to be told how many things are in them (Johnson et al. 2017)."""

    _home, _below = "clevr", True
    _archives = (("https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip", "b11922020e72d0cd9154779b2d3d07d2"),)

    def _list(self, home: Path) -> Samples:
        home = home / "CLEVR_v1.0"
        found = sorted((home / "images" / self._split).iterdir())
        if self._split == "test":
            return [(path, None) for path in found]
        told = json.loads((home / "scenes" / f"CLEVR_{self._split}_scenes.json").read_text())
        things = {scene["image_filename"]: len(scene["objects"]) for scene in told["scenes"]}
        return [(path, things[path.name]) for path in found]


class GTSRB(ListedSplit):
    """Traffic signs of 43 kinds (Stallkamp et al. 2012)."""

    _home, _below, _splits = "gtsrb", True, ("train", "test")

    @property
    def _archives(self) -> Any:  # type: ignore[override]
        server = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
        if self._split == "train":
            return [(server + "GTSRB-Training_fixed.zip", "513f3c79a4c5141765e10e952eaa2478")]
        return [(server + "GTSRB_Final_Test_Images.zip", "c7e4e6327067d32654124b0fe9e82185"),
                (server + "GTSRB_Final_Test_GT.zip", "fe31e9c9270bbcd7b84b7f21a9d9d9e5")]  # fmt: skip

    def _list(self, home: Path) -> Samples:
        if self._split == "train":
            return list(make_dataset(home / "GTSRB" / "Training", extensions=".ppm"))
        with open(home / "GT-final_test.csv", newline="") as f:
            rows = list(csv.DictReader(f, delimiter=";", skipinitialspace=True))
        place = home / "GTSRB" / "Final_Test" / "Images"
        return [(str(place / row["Filename"]), int(row["ClassId"])) for row in rows]


class StanfordCars(ListedSplit):
    """Cars of 196 kinds (Krause et al. 2013), which are not downloaded any more."""

    _home, _splits = "stanford_cars", ("train", "test")

    def _list(self, home: Path) -> Samples:
        kit, train = home / "devkit", self._split == "train"
        told = read_matlab(kit / "cars_train_annos.mat" if train else home / "cars_test_annos_withlabels.mat")
        names = read_matlab(kit / "cars_meta.mat")["class_names"]
        self._name([str(name).strip() for name in names])
        place = home / ("cars_train" if train else "cars_test")
        return [(str(place / row["fname"]), row["class"].item() - 1) for row in told["annotations"]]


class DTD(Listed):
    """Textures of 47 kinds (Cimpoi et al. 2014).

    Args:
        root: the folder that holds `dtd`.
        split: "train", "val" or "test".
        partition: 1 to 10, which of the published partitions.
        transform, target_transform: of the picture and of the class number.
        download: fetch and unpack the archive.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import DTD
        >>> DTD("/nowhere", "val", 2)
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it ...
    """

    _home, _below = "dtd", True
    _archives = (("https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",
                  "fff73e5086ae6bdbea199a49dfb8a4c1"),)  # fmt: skip

    def __init__(
        self, root: str | PathLike[str], split: str = "train", partition: int = 1, transform: Callable | None = None,
        target_transform: Callable | None = None, download: bool = False, loader: Callable[[Any], Any] = default_loader,
    ) -> None:  # fmt: skip
        self._split = verify_str_arg(split, "split", self._splits)
        if not 1 <= partition <= 10:
            raise ValueError(
                f"Parameter 'partition' should be an integer with `1 <= partition <= 10`, but got {partition} instead"
            )
        self._partition = partition
        self._open(root, transform, target_transform, download, loader)

    def _list(self, home: Path) -> Samples:
        listed = home / "dtd" / "labels" / f"{self._split}{self._partition}.txt"
        rows = [line.strip().split("/") for line in listed.read_text().splitlines()]
        number = self._name(sorted({kind for kind, _ in rows}))
        return [(home / "dtd" / "images" / kind / name, number[kind]) for kind, name in rows]

    def extra_repr(self) -> str:
        """The split and the partition."""
        return f"split={self._split}, partition={self._partition}"


class FGVCAircraft(Listed):
    """Aircraft of 102 variants, 70 families or 41 manufacturers (Maji et al. 2013).

    Args:
        root: the folder that holds `fgvc-aircraft-2013b`.
        split: "train", "val", "trainval" or "test".
        annotation_level: "variant", "family" or "manufacturer".
        transform, target_transform: of the picture and of the class number.
        download: fetch and unpack the archive.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import FGVCAircraft
        >>> FGVCAircraft("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it ...
    """

    _home, _splits = "fgvc-aircraft-2013b", ("train", "val", "trainval", "test")
    _archives = (("https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/fgvc-aircraft-2013b.tar.gz", None),)

    def __init__(
        self, root: str | PathLike[str], split: str = "trainval", annotation_level: str = "variant",
        transform: Callable | None = None, target_transform: Callable | None = None, download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:  # fmt: skip
        self._split = verify_str_arg(split, "split", self._splits)
        known = ("variant", "family", "manufacturer")
        self._annotation_level = verify_str_arg(annotation_level, "annotation_level", known)
        self._open(root, transform, target_transform, download, loader)

    def _list(self, home: Path) -> Samples:
        plural = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}
        data, level = home / "data", self._annotation_level
        names = (data / f"{plural[level]}.txt").read_text().splitlines()
        number = self._name([name.strip() for name in names])
        lines = (data / f"images_{level}_{self._split}.txt").read_text().splitlines()
        rows = [line.strip().split(" ", 1) for line in lines]
        return [(str(data / "images" / f"{name}.jpg"), number[kind]) for name, kind in rows]


class Omniglot(Listed):
    """Letters of 50 alphabets (Lake et al. 2015).

    Args:
        root: the folder that holds `omniglot-py`.
        background: the 30 alphabets to learn from, or the other 20.
        transform, target_transform: of the picture, a grey one, and of the letter's number.
        download: fetch and unpack the archive.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import Omniglot
        >>> Omniglot("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it ...
    """

    _home, _below = "omniglot-py", True

    @property
    def _archives(self) -> Any:  # type: ignore[override]
        part = "background" if self.background else "evaluation"
        md5 = "68d2efa1b9178cc56df9314c21c6e718" if self.background else "6b91aef0f799c5bb55b94e3f2daec811"
        server = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
        return [(f"{server}/images_{part}.zip", md5)]

    def __init__(
        self, root: str | PathLike[str], background: bool = True, transform: Callable | None = None,
        target_transform: Callable | None = None, download: bool = False, loader: Callable[[Any], Any] | None = None,
    ) -> None:  # fmt: skip
        self.background = background
        grey = loader or (lambda path: load_as_it_is(path).convert("L"))
        self._open(root, transform, target_transform, download, grey)

    def _list(self, home: Path) -> Samples:
        place = home / ("images_background" if self.background else "images_evaluation")
        letters = [p for alphabet in sorted(place.iterdir()) for p in sorted(alphabet.iterdir())]
        return [(str(p), i) for i, letter in enumerate(letters) for p in sorted(letter.glob("*.png"))]


class Imagenette(Listed):
    """Ten classes of ImageNet that are easily told apart (Howard 2019).

    Args:
        root: the folder that holds `imagenette2`, or that of another size.
        split: "train" or "val".
        size: "full", "320px" or "160px".
        download: fetch and unpack the archive.
        transform, target_transform: of the picture and of the class number.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import Imagenette
        >>> Imagenette("/nowhere", size="160px")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it ...
    """

    _MD5 = {"full": "fe2fc210e6bb7c5664d602c3cd71e612", "320px": "3df6f0d01a2c9592104656642f5e78a3",
            "160px": "e793b78cc4c9e9a4ccc0c1155377a412"}  # fmt: skip
    _NAMES = {
        "n01440764": ("tench", "Tinca tinca"), "n02102040": ("English springer", "English springer spaniel"),
        "n02979186": ("cassette player",), "n03000684": ("chain saw", "chainsaw"), "n03028079": ("church", "church building"),
        "n03394916": ("French horn", "horn"), "n03417042": ("garbage truck", "dustcart"),
        "n03425413": ("gas pump", "gasoline pump", "petrol pump", "island dispenser"), "n03445777": ("golf ball",),
        "n03888257": ("parachute", "chute"),
    }  # fmt: skip

    def __init__(
        self, root: str | PathLike[str], split: str = "train", size: str = "full", download: bool = False,
        transform: Callable | None = None, target_transform: Callable | None = None,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:  # fmt: skip
        self._split = verify_str_arg(split, "split", ("train", "val"))
        self._size = verify_str_arg(size, "size", tuple(self._MD5))
        self._home = "imagenette2" + ("" if size == "full" else f"-{size.removesuffix('px')}")
        server = "https://s3.amazonaws.com/fast-ai-imageclas/"
        self._archives = ((f"{server}{self._home}.tgz", self._MD5[size]),)
        self._open(root, transform, target_transform, download, loader)

    def _list(self, home: Path) -> Samples:
        found = self._in_folders(home / self._split, ".jpeg")
        self.wnids, self.wnid_to_idx = self.classes, self.class_to_idx
        self.classes = [self._NAMES[wnid] for wnid in self.wnids]
        self.class_to_idx = {n: i for i, names in enumerate(self.classes) for n in names}
        return found
