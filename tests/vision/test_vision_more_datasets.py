"""SVHN, Flowers102, EMNIST, QMNIST, CelebA, ImageNet, LSUN and wrapped datasets, from small files of their formats."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import lzma
import pickle
import struct
import sys
import tarfile
import types
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("PIL")
from PIL import Image

import rushlight
from rushlight.io.errors import CorruptFileError
from rushlight.vision import datasets, tv_tensors
from rushlight.vision.datasets import imagenet
from rushlight.vision.datasets._matlab import read_matlab
from rushlight.vision.transforms import v2
from vision_data import idx

# -- MATLAB files ---------------------------------------------------------------------------------

CLASSES = {"f8": (6, 9), "u1": (9, 2), "i4": (12, 5), "u2": (11, 4)}  # class of array, how it is stored


def element(kind: int, body: bytes) -> bytes:
    if 0 < len(body) <= 4:
        return struct.pack("<HH", kind, len(body)) + body.ljust(4, b"\0")
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def matrix(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        head, dims, parts = 4, [1, len(value)], [element(17, value.encode("utf-16-le"))]
    elif isinstance(value, list) and isinstance(value[0], str):  # texts
        head, dims, parts = 1, [len(value), 1], [matrix("", text) for text in value]
    elif isinstance(value, list):  # a table
        fields = list(value[0])
        names = b"".join(f.encode().ljust(32, b"\0") for f in fields)
        head, dims = 2, [len(value), 1]
        parts = [element(5, struct.pack("<i", 32)), element(1, names)]
        parts += [matrix("", row[f]) for row in value for f in fields]
    else:
        a = np.asarray(value)
        head, stored = CLASSES[a.dtype.str[1:]]
        dims, parts = list(a.shape), [element(stored, a.tobytes(order="F"))]
    body = element(6, struct.pack("<II", head, 0)) + element(5, struct.pack(f"<{len(dims)}i", *dims))
    body += element(1, name.encode()) + b"".join(parts)
    return struct.pack("<II", 14, len(body)) + body


def matlab(packed: bool = True, **values: Any) -> bytes:
    raw = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    for name, value in values.items():
        made = matrix(name, value)
        if packed:
            body = zlib.compress(made)
            made = struct.pack("<II", 15, len(body)) + body
        raw += made
    return raw


TABLE = [{"a": np.array([[3.0]]), "b": "x, y"}, {"a": np.array([[4.0]]), "b": ""}]


@pytest.mark.parametrize("packed", [True, False])
def test_matlab_files(tmp_path: Path, packed: bool) -> None:
    numbers = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    (tmp_path / "a.mat").write_bytes(matlab(packed, X=numbers, y=np.array([[1.5, 2]]), t=TABLE))
    found = read_matlab(tmp_path / "a.mat")
    assert list(found) == ["X", "y", "t"]
    assert found["X"].dtype == np.uint8
    np.testing.assert_array_equal(found["X"], numbers)
    assert found["y"].tolist() == [[1.5, 2.0]]
    assert [(row["a"].item(), row["b"]) for row in found["t"]] == [(3.0, "x, y"), (4.0, "")]


@pytest.mark.parametrize("packed", [True, False])
def test_damaged_matlab_files(tmp_path: Path, packed: bool) -> None:
    """Cut anywhere, or with any byte changed: an array, or our one error."""
    whole = matlab(packed, X=np.arange(6, dtype=np.uint8).reshape(2, 3), t=TABLE)
    path = tmp_path / "a.mat"
    rng = np.random.default_rng(0)
    damaged = [whole[:n] for n in range(0, len(whole), 7)]
    for at in rng.integers(100, len(whole), 300):
        damaged.append(whole[:at] + bytes([int(rng.integers(256))]) + whole[at + 1 :])
    for raw in damaged:
        path.write_bytes(raw)
        try:
            assert isinstance(read_matlab(path), dict)
        except CorruptFileError:
            pass


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    body = zlib.compress(b"\0" * (1 << 27), 9)
    raw = b"MATLAB".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + struct.pack("<II", 15, len(body)) + body
    (tmp_path / "a.mat").write_bytes(raw)
    with pytest.raises(CorruptFileError, match="far more"):
        read_matlab(tmp_path / "a.mat")


def md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes()).hexdigest()


def jpeg(path: Path, value: int = 0, size: tuple[int, int] = (6, 4)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (value, value, value)).save(path)


# -- lists of files -------------------------------------------------------------------------------

CARS = [{"fname": "1.jpg", "class": np.uint8([[2]])}]
FILES: dict[str, tuple[dict[str, Any], dict[str, Any], list[tuple[str, Any]], Any]] = {
    "EuroSAT": ({}, {"eurosat/2750/Sea/1.jpg": 0, "eurosat/2750/Ice/2.jpg": 0}, [("2.jpg", 0), ("1.jpg", 1)], ["Ice", "Sea"]),
    "SUN397": ({}, {"SUN397/ClassName.txt": "/a/abbey\n/b/bar/in\n", "SUN397/b/bar/in/sun_1.jpg": 0}, [("sun_1.jpg", 1)], ["abbey", "bar/in"]),
    "Caltech256": ({}, {"caltech256/256_ObjectCategories/001.ak47/001_0001.jpg": 0}, [("001_0001.jpg", 0)], ["001.ak47"]),
    "Country211": ({"split": "valid"}, {"country211/valid/AD/1.jpg": 0}, [("1.jpg", 0)], ["AD"]),
    "RenderedSST2": ({"split": "val"}, {f"rendered-sst2/valid/{k}/1.png": 0 for k in ("negative", "positive")},
                     [("1.png", 0), ("1.png", 1)], ["negative", "positive"]),
    "CLEVRClassification": ({}, {"clevr/CLEVR_v1.0/images/train/a.png": 0, "clevr/CLEVR_v1.0/scenes/CLEVR_train_scenes.json":
                                 json.dumps({"scenes": [{"image_filename": "a.png", "objects": [{}, {}]}]})}, [("a.png", 2)], None),
    "GTSRB": ({"split": "test"}, {"gtsrb/GT-final_test.csv": "Filename;ClassId\n7.ppm;42\n", "gtsrb/GTSRB/Final_Test/Images/7.ppm": 0},
              [("7.ppm", 42)], None),
    "StanfordCars": ({}, {"stanford_cars/devkit/cars_train_annos.mat": matlab(annotations=CARS), "stanford_cars/cars_train/1.jpg": 0,
                          "stanford_cars/devkit/cars_meta.mat": matlab(class_names=["a", "b"])}, [("1.jpg", 1)], ["a", "b"]),
    "DTD": ({"partition": 2}, {"dtd/dtd/labels/train2.txt": "dotted/b.jpg\nbanded/a.jpg\n", "dtd/dtd/images/banded/a.jpg": 0,
                               "dtd/dtd/images/dotted/b.jpg": 0}, [("b.jpg", 1), ("a.jpg", 0)], ["banded", "dotted"]),
    "FGVCAircraft": ({"annotation_level": "family"}, {"fgvc-aircraft-2013b/data/families.txt": "A 1\nB 2",
                     "fgvc-aircraft-2013b/data/images_family_trainval.txt": "07 B 2", "fgvc-aircraft-2013b/data/images/07.jpg": 0},
                     [("07.jpg", 1)], ["A 1", "B 2"]),
    "Omniglot": ({"background": False}, {"omniglot-py/images_evaluation/Tifinagh/character01/01.png": 0}, [("01.png", 0)], None),
    "Imagenette": ({"size": "160px"}, {"imagenette2-160/train/n03445777/a.jpeg": 0}, [("a.jpeg", 0)], [("golf ball",)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_listed_files(tmp_path: Path, name: str) -> None:
    chosen, files, found, classes = FILES[name]
    for path, content in files.items():
        place = tmp_path / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if content == 0:
            Image.new("RGB", (3, 2)).save(place)
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    data = getattr(datasets, name)(tmp_path, **chosen)
    assert [(Path(path).name, target) for path, target in data._samples] == found
    picture, target = data[0]
    assert picture.size == (3, 2) and target == found[0][1] and getattr(data, "classes", None) == classes
    with pytest.raises(RuntimeError, match="Dataset not found"):
        getattr(datasets, name)(tmp_path / "elsewhere", **chosen)


def test_datasets_that_are_missing_say_so() -> None:
    with pytest.raises(NotImplementedError, match="Kitti"):
        datasets.Kitti("nowhere")
    with pytest.raises(AttributeError, match="Kitty"):
        datasets.Kitty  # noqa: B018


# -- SVHN, Flowers102 -----------------------------------------------------------------------------


def write_svhn(root: Path, monkeypatch: Any, **values: Any) -> Path:
    path = root / "train_32x32.mat"
    path.write_bytes(matlab(**values))
    listed = ["http://nowhere", path.name, md5(path)]
    monkeypatch.setattr(datasets.SVHN, "split_list", {**datasets.SVHN.split_list, "train": listed})
    return path


def test_svhn(tmp_path: Path, monkeypatch: Any) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    write_svhn(tmp_path, monkeypatch, X=pictures, y=np.array([[1], [10], [3], [9]], np.uint8))
    data = datasets.SVHN(tmp_path, transform=v2.PILToTensor(), target_transform=lambda y: y + 100)
    assert (len(data), data.data.shape, data.labels.tolist()) == (4, (4, 3, 32, 32), [1, 0, 3, 9])
    picture, label = data[1]
    assert label == 100
    np.testing.assert_array_equal(picture.numpy(), pictures[..., 1].transpose(2, 0, 1))
    assert "Split: train" in repr(data)
    with pytest.raises(ValueError, match="Unknown value 'valid' for argument split"):
        datasets.SVHN(tmp_path, "valid")
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
        datasets.SVHN(tmp_path, "test")


WRONG_SVHN: dict[str, dict[str, Any]] = {
    "no labels": {"X": np.zeros((32, 32, 3, 2), np.uint8)},
    "other length": {"X": np.zeros((32, 32, 3, 2), np.uint8), "y": np.zeros((3, 1), np.uint8)},
    "grey": {"X": np.zeros((32, 32, 1, 2), np.uint8), "y": np.zeros((2, 1), np.uint8)},
    "floats": {"X": np.zeros((32, 32, 3, 2)), "y": np.zeros((2, 1), np.uint8)},
    "text": {"X": "pictures", "y": np.zeros((2, 1), np.uint8)},
}


@pytest.mark.parametrize("name", WRONG_SVHN)
def test_wrong_svhn(tmp_path: Path, monkeypatch: Any, name: str) -> None:
    path = write_svhn(tmp_path, monkeypatch, **WRONG_SVHN[name])
    with pytest.raises(CorruptFileError):
        datasets.SVHN(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):  # the checksum
        datasets.SVHN(tmp_path)


def write_flowers(root: Path, monkeypatch: Any, ids: list[int], labels: list[int]) -> None:
    base = root / "flowers-102"
    for n in range(1, len(labels) + 1):
        jpeg(base / "jpg" / f"image_{n:05d}.jpg", n)
    sets = {"trnid": ids, "valid": [2], "tstid": [1]}
    (base / "setid.mat").write_bytes(matlab(**{k: np.array([v], np.uint16) for k, v in sets.items()}))
    (base / "imagelabels.mat").write_bytes(matlab(labels=np.array([labels], np.uint8)))
    known = datasets.Flowers102._file_dict
    files = {kind: (name, md5(base / name)) for kind, (name, _) in known.items() if kind != "image"}
    monkeypatch.setattr(datasets.Flowers102, "_file_dict", {**known, **files})


def test_flowers(tmp_path: Path, monkeypatch: Any) -> None:
    write_flowers(tmp_path, monkeypatch, [3, 1], [5, 102, 1])
    data = datasets.Flowers102(tmp_path, transform=lambda x: x.size)
    assert [data[i] for i in range(len(data))] == [((6, 4), 0), ((6, 4), 4)]
    assert datasets.Flowers102(tmp_path, "val")[0][1] == 101
    assert len(set(datasets.Flowers102.classes)) == 102
    assert "split=train" in repr(data)
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
        datasets.Flowers102(tmp_path / "elsewhere")


def test_flowers_without_labels(tmp_path: Path, monkeypatch: Any) -> None:
    write_flowers(tmp_path, monkeypatch, [4], [5, 102, 1])
    with pytest.raises(CorruptFileError, match="no label"):
        datasets.Flowers102(tmp_path)


# -- EMNIST, QMNIST -------------------------------------------------------------------------------


def pictures(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 28, 28))


def write_emnist(folder: Path, split: str, labels: list[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for which in ("train", "test"):
        stem = folder / f"emnist-{split}-{which}"
        Path(f"{stem}-images-idx3-ubyte").write_bytes(idx(pictures(len(labels))))
        Path(f"{stem}-labels-idx1-ubyte").write_bytes(idx(np.array(labels)))


def test_emnist(tmp_path: Path) -> None:
    write_emnist(tmp_path / "EMNIST" / "raw", "letters", [1, 26, 3])
    data = datasets.EMNIST(tmp_path, "letters", train=False, transform=v2.PILToTensor())
    assert (data.targets.tolist(), data.classes[26], len(data)) == ([1, 26, 3], "z", 3)
    np.testing.assert_array_equal(data[1][0][0].numpy(), pictures(3)[1])
    assert [len(datasets.EMNIST.classes_split_dict[s]) for s in datasets.EMNIST.splits] == [62, 47, 47, 27, 10, 10]
    with pytest.raises(ValueError, match="Unknown value 'x' for argument split"):
        datasets.EMNIST(tmp_path, "x")
    with pytest.raises(RuntimeError, match="emnist-digits-train-images"):
        datasets.EMNIST(tmp_path, "digits")
    write_emnist(tmp_path / "EMNIST" / "raw", "digits", [1, 10])  # there is no digit 10
    with pytest.raises(RuntimeError, match="do not belong together"):
        datasets.EMNIST(tmp_path, "digits")


def test_emnist_by_download(tmp_path: Path, monkeypatch: Any) -> None:
    write_emnist(tmp_path / "made", "digits", [1, 2])
    archive = tmp_path / "gzip.zip"
    with zipfile.ZipFile(archive, "w") as z:
        for file in (tmp_path / "made").iterdir():
            z.writestr(f"gzip/{file.name}.gz", gzip.compress(file.read_bytes()))
    monkeypatch.setattr(datasets.EMNIST, "url", archive.as_uri().replace("file://", "http://nowhere"))
    monkeypatch.setattr(datasets.EMNIST, "md5", md5(archive))
    raw = tmp_path / "EMNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "gzip.zip").write_bytes(archive.read_bytes())  # as if fetched: its checksum is right
    assert datasets.EMNIST(tmp_path, "digits", download=True).targets.tolist() == [1, 2]
    assert not (raw / "gzip").exists()
    assert datasets.mnist.EMNIST is datasets.EMNIST


def whole_numbers(a: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 12, a.ndim) + struct.pack(f">{a.ndim}I", *a.shape)
    return head + a.astype(">i4").tobytes()


def test_qmnist(tmp_path: Path) -> None:
    raw = tmp_path / "QMNIST" / "raw"
    raw.mkdir(parents=True)
    rows = np.arange(24).reshape(3, 8) % 10
    rows[0, 7] = 70000
    (raw / "qmnist-train-images-idx3-ubyte").write_bytes(idx(pictures(3)))
    (raw / "qmnist-train-labels-idx2-int.gz").write_bytes(gzip.compress(whole_numbers(rows)))
    data = datasets.QMNIST(tmp_path)
    assert [data[i][1] for i in range(3)] == [0, 8, 6]
    full = datasets.QMNIST(tmp_path, compat=False)
    assert full[0][1].tolist() == rows[0].tolist()
    assert full.targets.dtype == rushlight.int64
    assert "Split: train" in repr(data)
    with pytest.raises(RuntimeError, match="qmnist-test-images"):
        datasets.QMNIST(tmp_path, train=False)
    with pytest.raises(ValueError, match="Unknown value 'x' for argument what"):
        datasets.QMNIST(tmp_path, "x")
    (raw / "qmnist-train-images-idx3-ubyte").write_bytes(idx(pictures(2)))
    with pytest.raises(RuntimeError, match="do not belong together"):
        datasets.QMNIST(tmp_path)


def test_qmnist_test_parts_and_xz(tmp_path: Path) -> None:
    raw = tmp_path / "QMNIST" / "raw"
    raw.mkdir(parents=True)
    many = np.zeros((10002, 28, 28))
    (raw / "qmnist-test-images-idx3-ubyte").write_bytes(idx(many))
    labels = np.tile(np.arange(10002)[:, None] % 10, (1, 8))
    (raw / "qmnist-test-labels-idx2-int").write_bytes(whole_numbers(labels))
    assert len(datasets.QMNIST(tmp_path, "test10k")) == 10000
    assert datasets.QMNIST(tmp_path, "test50k").targets[:, 0].tolist() == [0, 1]
    packed = tmp_path / "a.txt.xz"
    packed.write_bytes(lzma.compress(b"hello"))
    assert Path(datasets.utils.extract_archive(packed)).read_bytes() == b"hello"


# -- CelebA ---------------------------------------------------------------------------------------

FACES = ["000001.jpg", "000002.jpg", "000003.jpg"]


def write_celeba(root: Path, monkeypatch: Any, **changed: str) -> None:
    base = root / "celeba"
    for i, name in enumerate(FACES):
        jpeg(base / "img_align_celeba" / name, 10 * i, (13, 9))
    texts = {
        "list_eval_partition.txt": "".join(f"{n} {i}\n" for n, i in zip(FACES, (0, 1, 0))),
        "identity_CelebA.txt": "".join(f"{n} {i}\n" for n, i in zip(FACES, (2880, 7, 9))),
        "list_bbox_celeba.txt": "3\nimage_id x_1 y_1 width height\n" + "".join(f"{n}   1  2 {3 + i} 4\n" for i, n in enumerate(FACES)),
        "list_landmarks_align_celeba.txt": "3\nlefteye_x lefteye_y \n" + "".join(f"{n} 5  6\n" for n in FACES),
        "list_attr_celeba.txt": "3\nBald Young \n" + "".join(f"{n} -1  1\n" for n in FACES),
    }  # fmt: skip
    texts |= {name.replace("__", "."): text for name, text in changed.items()}
    for name, text in texts.items():
        (base / name).write_text(text)
    files = [(n, m if name.endswith("zip") else md5(base / name), name) for n, m, name in datasets.CelebA.file_list]
    monkeypatch.setattr(datasets.CelebA, "file_list", files)


def test_celeba(tmp_path: Path, monkeypatch: Any) -> None:
    write_celeba(tmp_path, monkeypatch)
    data = datasets.CelebA(tmp_path)
    assert (len(data), data.filename, data.attr_names) == (2, [FACES[0], FACES[2]], ["Bald", "Young"])
    assert data[1][1].tolist() == [0, 1]
    several = datasets.CelebA(tmp_path, "all", ["identity", "bbox", "landmarks"])
    found = several[1][1]
    assert [int(found[0]), found[1].tolist(), found[2].tolist()] == [7, [1, 2, 4, 4], [5, 6]]
    assert datasets.CelebA(tmp_path, "valid", [])[0][1] is None
    assert "Target type: ['attr']\n    Split: train" in repr(data)
    with pytest.raises(RuntimeError, match="target_type is empty"):
        datasets.CelebA(tmp_path, target_type=[], target_transform=abs)
    with pytest.raises(ValueError, match="Unknown value 'x' for argument split"):
        datasets.CelebA(tmp_path, "x")
    with pytest.raises(ValueError, match='Target type "x" is not recognized'):
        datasets.CelebA(tmp_path, target_type="x")[0]
    with pytest.raises(RuntimeError, match="Dataset not found or corrupted"):
        datasets.CelebA(tmp_path / "elsewhere")
    monkeypatch.setitem(sys.modules, "gdown", None)
    with pytest.raises(RuntimeError, match="'gdown' is required"):
        datasets.CelebA(tmp_path / "elsewhere", download=True)


@pytest.mark.parametrize("text", ["", "3\n", "3\na b\nx 1 2\ny 3\n", "3\na\nx one\n", "3\na\nx 1\n", "3\na\nx 99999999999999999999\n"])  # fmt: skip
def test_wrong_celeba(tmp_path: Path, monkeypatch: Any, text: str) -> None:
    write_celeba(tmp_path, monkeypatch, list_bbox_celeba__txt=text)
    with pytest.raises(CorruptFileError):
        datasets.CelebA(tmp_path)


# -- ImageNet -------------------------------------------------------------------------------------


def add(tar: tarfile.TarFile, name: str, raw: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(raw)
    tar.addfile(info, io.BytesIO(raw))


def picture_bytes(value: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (5, 4), (value, 0, 0)).save(out, "JPEG")
    return out.getvalue()


def write_imagenet(root: Path, monkeypatch: Any, truth: str = "2\n1\n2\n") -> None:
    one = np.array([[1.0]])
    rows = [
        {"ILSVRC2012_ID": one * (i + 1), "WNID": wnid, "words": words, "gloss": "g", "num_children": one * below}
        for i, (wnid, words, below) in enumerate([("n01", "tench, Tinca", 0), ("n02", "goldfish", 0), ("n03", "fish", 2)])
    ]  # fmt: skip
    names = {kind: root / name for kind, (name, _) in imagenet.ARCHIVE_META.items()}
    with tarfile.open(names["devkit"], "w:gz") as tar:
        add(tar, "ILSVRC2012_devkit_t12/data/meta.mat", matlab(synsets=rows))
        add(tar, "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", truth.encode())
    with tarfile.open(names["train"], "w") as tar:
        for wnid in ("n01", "n02"):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w") as part:
                add(part, f"{wnid}_1.JPEG", picture_bytes(10))
            add(tar, f"{wnid}.tar", inner.getvalue())
    with tarfile.open(names["val"], "w") as tar:
        for i in range(3):
            add(tar, f"ILSVRC2012_val_0000000{i + 1}.JPEG", picture_bytes(i))
    meta = {kind: (path.name, md5(path)) for kind, path in names.items()}
    monkeypatch.setattr(imagenet, "ARCHIVE_META", meta)


def test_imagenet(tmp_path: Path, monkeypatch: Any) -> None:
    write_imagenet(tmp_path, monkeypatch)
    train = datasets.ImageNet(tmp_path)
    assert (train.wnids, train.classes) == (["n01", "n02"], [("tench", "Tinca"), ("goldfish",)])
    assert train.class_to_idx == {"tench": 0, "Tinca": 0, "goldfish": 1}
    assert [label for _, label in train] == [0, 1]
    assert "Split: train" in repr(train)
    val = datasets.ImageNet(tmp_path, "val")
    assert [Path(path).name[-6:-5] + str(label) for path, label in val.samples] == ["20", "11", "31"]
    assert len(datasets.ImageNet(tmp_path, "val")) == 3  # from what is unpacked
    with pytest.raises(ValueError, match="Unknown value 'test' for argument split"):
        datasets.ImageNet(tmp_path, "test")


@pytest.mark.parametrize("truth", ["9\n", "x\n", "3\n"])
def test_wrong_imagenet(tmp_path: Path, monkeypatch: Any, truth: str) -> None:
    write_imagenet(tmp_path, monkeypatch, truth)
    with pytest.raises(CorruptFileError):
        datasets.ImageNet(tmp_path)
    (tmp_path / "meta.bin").write_bytes(pickle.dumps(print))
    with pytest.raises(CorruptFileError):
        datasets.ImageNet(tmp_path)


# -- LSUN -----------------------------------------------------------------------------------------


@pytest.fixture
def lmdb(monkeypatch: Any) -> dict[str, dict[bytes, bytes]]:
    """A stand-in for the package: folders that exist, and what they hold."""
    files: dict[str, dict[bytes, bytes]] = {}

    class Error(Exception):
        pass

    class Environment:
        def __init__(self, held: dict[bytes, bytes]) -> None:
            self.held = held

        def begin(self, write: bool) -> Any:
            return self

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *args: Any) -> None: ...

        def cursor(self) -> Any:
            return types.SimpleNamespace(iternext=lambda keys, values: iter(sorted(self.held)))

        def get(self, key: bytes) -> bytes:
            return self.held[key]

    def opened(path: str, **options: Any) -> Environment:
        assert options["readonly"] and not options["lock"]
        if path not in files:
            raise Error(f"{path}: No such file or directory")
        return Environment(files[path])

    monkeypatch.setitem(sys.modules, "lmdb", types.SimpleNamespace(open=opened, Error=Error))
    return files


def test_lsun(tmp_path: Path, lmdb: dict) -> None:
    lmdb[str(tmp_path / "bedroom_val_lmdb")] = {b"b": picture_bytes(1), b"a": picture_bytes(2)}
    lmdb[str(tmp_path / "church_outdoor_val_lmdb")] = {b"c": picture_bytes(3)}
    names = ["bedroom_val", "church_outdoor_val"]
    data = datasets.LSUN(str(tmp_path), names, transform=lambda x: x.size, target_transform=lambda y: y + 5)
    assert [data[i] for i in range(len(data))] == [((5, 4), 5), ((5, 4), 5), ((5, 4), 6)]
    assert f"Classes: {names}" in repr(data)
    with pytest.raises(CorruptFileError, match="not an LMDB folder"):
        datasets.LSUN(str(tmp_path), ["tower_val"])
    with pytest.raises(ValueError, match="Unknown value 'x' for postfix. Valid values are {'train', 'val', 'test'}"):
        datasets.LSUN(str(tmp_path), ["tower_x"])
    with pytest.raises(ValueError, match="Expected type str or Iterable for argument classes"):
        datasets.LSUN(str(tmp_path), 3)
    with pytest.raises(ValueError, match="Expected type str for elements in argument classes"):
        datasets.LSUN(str(tmp_path), [3])


# -- wrapped --------------------------------------------------------------------------------------


def write_coco(root: Path) -> Path:
    jpeg(root / "a.jpg", 9, (13, 9))
    jpeg(root / "b.jpg", 9, (13, 9))
    rows = [{"id": i, "image_id": 7, "bbox": [1 + i, 2, 3, 4], "category_id": 5 + i, "area": 12.0, "iscrowd": 0,
             "segmentation": []} for i in range(2)]  # fmt: skip
    images = [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}]
    path = root / "annotations.json"
    path.write_text(json.dumps({"images": images, "annotations": rows, "categories": []}))
    return path


def test_wrapped_coco(tmp_path: Path) -> None:
    plain = datasets.CocoDetection(tmp_path, write_coco(tmp_path), transforms=v2.RandomHorizontalFlip(1.0))
    data = datasets.wrap_dataset_for_transforms_v2(plain)
    assert isinstance(data, datasets.CocoDetection)
    assert type(data).__name__ == "WrappedCocoDetection"
    _, target = data[0]
    assert sorted(target) == ["boxes", "image_id", "labels"]
    assert isinstance(target["boxes"], tv_tensors.BoundingBoxes)
    assert target["boxes"].tolist() == [[9.0, 2.0, 12.0, 6.0], [8.0, 2.0, 11.0, 6.0]]  # flipped
    assert (target["boxes"].canvas_size, target["labels"].tolist()) == ((9, 13), [5, 6])
    assert data[1][1] == {"image_id": 8}
    again = pickle.loads(pickle.dumps(data))
    assert again[0][1]["boxes"].tolist() == target["boxes"].tolist()
    plain.transforms = None
    some = datasets.wrap_dataset_for_transforms_v2(plain, ["area", "labels"])
    assert some[0][1]["area"] == [12.0, 12.0]
    with pytest.raises(ValueError, match="Target keys \\['x'\\] are not available"):
        datasets.wrap_dataset_for_transforms_v2(plain, ["x"])
    with pytest.raises(ValueError, match="`target_keys` can be None"):
        datasets.wrap_dataset_for_transforms_v2(plain, 3)


def test_wrapped_masks_and_boxes(tmp_path: Path, monkeypatch: Any) -> None:
    devkit = tmp_path / "VOCdevkit" / "VOC2012"
    jpeg(devkit / "JPEGImages" / "x.jpg", 0, (13, 9))
    for kind in ("Segmentation", "Main"):
        (devkit / "ImageSets" / kind).mkdir(parents=True)
        (devkit / "ImageSets" / kind / "train.txt").write_text("x\n")
    (devkit / "SegmentationClass").mkdir()
    Image.new("L", (13, 9), 2).save(devkit / "SegmentationClass" / "x.png")
    (devkit / "Annotations").mkdir()
    box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>5</xmax><ymax>7</ymax></bndbox>"
    (devkit / "Annotations" / "x.xml").write_text(
        f"<annotation><object><name>dog</name>{box}</object><object><name>cat</name>{box}</object></annotation>"
    )
    wrap = datasets.wrap_dataset_for_transforms_v2
    mask = wrap(datasets.VOCSegmentation(tmp_path))[0][1]
    assert isinstance(mask, tv_tensors.Mask)
    assert (tuple(mask.shape), int(mask.max())) == ((1, 9, 13), 2)
    target = wrap(datasets.VOCDetection(tmp_path), "all")[0][1]
    assert sorted(target) == ["annotation", "boxes", "labels"]
    assert (target["labels"].tolist(), target["boxes"].tolist()) == ([12, 8], [[1, 2, 5, 7]] * 2)
    write_celeba(tmp_path, monkeypatch)
    faces = wrap(datasets.CelebA(tmp_path, target_type=["identity", "bbox"]))[0][1]
    assert (int(faces[0]), faces[1].tolist(), faces[1].format.name) == (2880, [[1, 2, 4, 6]], "XYXY")
    with pytest.raises(RuntimeError, match="not supported by this wrapper"):
        wrap(datasets.CelebA(tmp_path))


def test_what_cannot_be_wrapped() -> None:
    wrap = datasets.wrap_dataset_for_transforms_v2
    with pytest.raises(TypeError, match="No wrapper exists for dataset class FakeData"):
        wrap(datasets.FakeData())
    with pytest.raises(TypeError, match="meant for subclasses of"):
        wrap(rushlight.utils.data.TensorDataset(rushlight.zeros(2)))
    with pytest.raises(ValueError, match="only supported for `CocoDetection`"):
        wrap(datasets.FashionMini(train=False), ["boxes"])
    plain = datasets.FashionMini(train=False, transform=v2.ToImage())
    picture, _ = wrap(plain)[0]
    assert isinstance(picture, tv_tensors.Image)
