"""Sound files of every kind that rushlight reads, and how each is read; the proof mutates them."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.cli.errors import UsageError
from rushlight.io import CorruptFileError, npz, safetensors
from rushlight.io.pickler import Pickler, storage_bytes

Reader = Callable[[bytes, Path], object]
# Opcodes and names that a pickle is made of.
WORDS = [
    b"(", b".", b"0", b"2", b"a", b"b", b"e", b"h\x00", b"h\x01", b"q\x01", b"l", b"d", b"t", b"}", b"]",
    b")", b"R", b"s", b"u", b"\x85", b"\x86", b"\x87", b"\x81", b"\x8f", b"\x90", b"\x91", b"N", b"\x88",
    b"K\x07", b"J\xff\xff\xff\xff", b"Q", b"ctorch\nSize\n", b"c_codecs\nencode\n", b"cbuiltins\nset\n",
    b"cos\nsystem\n", b"ccollections\nCounter\n", b"ctorch._utils\n_rebuild_parameter\n",
    b"ccollections\nOrderedDict\n", b"cbuiltins\nlist\n", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
]  # fmt: skip


@dataclass
class Kind:
    """One kind of file: sound samples, how a mutated one is read, and what may be raised."""

    name: str
    samples: list[bytes]
    read: Reader
    errors: tuple[type[BaseException], ...] = (CorruptFileError,)
    words: list[bytes] = field(default_factory=list)
    finish: Callable[[bytes], bytes] = bytes
    lines: bool = False  # whether a message may have several lines


def _contents() -> list[object]:
    x = rl.arange(12.0).reshape(3, 4)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    return [
        {"x": x, "row": x[1], "turned": x.T, "p": nn.Parameter(x[0].clone()), "size": x.shape},
        {"state": net.state_dict(), "epoch": 3, "nested": [1, 2.5, None, (True, b"b"), {"k": {3}}]},
        OrderedDict(a=rl.ones(2, dtype=rl.bfloat16), b=rl.zeros(3, dtype=rl.uint16), c=rl.float64),
    ]


def _saved(obj: object) -> bytes:
    buffer = io.BytesIO()
    rl.save(obj, buffer)
    return buffer.getvalue()


def _load(data: bytes, folder: Path) -> object:
    return rl.load(io.BytesIO(data), map_location="cpu")


def zip_files() -> Kind:
    return Kind("pth", [_saved(c) for c in _contents()], _load)


def pickles() -> Kind:
    """The pickle inside a zip file whose sums are right, or most mutations would end there."""
    records: dict[str, bytes] = {}
    samples = []
    for content in _contents():
        with zipfile.ZipFile(io.BytesIO(_saved(content))) as z:
            samples.append(z.read("archive/data.pkl"))
            records.update({n: z.read(n) for n in z.namelist()})

    def finish(data: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as z:
            for name, content in {**records, "archive/data.pkl": data}.items():
                z.writestr(name, content)
        return buffer.getvalue()

    return Kind("pickle in pth", samples, _load, words=WORDS, finish=finish)


def _legacy(obj: object) -> bytes:
    buffer = io.BytesIO()
    for head in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(head, buffer, 2)
    pickler = Pickler(buffer)
    pickler.dump(obj)
    pickle.dump([key for key, _ in pickler.storages], buffer, 2)
    for _, array in pickler.storages:
        buffer.write(struct.pack("<q", array.size) + bytes(storage_bytes(array)))
    return buffer.getvalue()


def legacy_files() -> Kind:
    return Kind("legacy pth", [_legacy(c) for c in _contents()[:2]], _load, words=WORDS)


def safetensors_files() -> Kind:
    raw = safetensors.save({"w": rl.ones(5, 3), "b": rl.zeros(3, dtype=rl.bfloat16)}, {"a": "b"})

    def read(data: bytes, folder: Path) -> None:
        path = folder / "x.safetensors"
        path.write_bytes(data)
        try:
            safetensors.load_file(path)
        finally:
            safetensors.metadata(path)

    return Kind("safetensors", [raw], read, lines=True)


def npz_files() -> Kind:
    samples = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, data=np.arange(60.0).reshape(3, 20), label=np.arange(3))
        samples.append(buffer.getvalue())

    def read(data: bytes, folder: Path) -> None:
        path = folder / "x.npz"
        path.write_bytes(data)
        npz.read_npz(path, ["data", "label"], 1 << 24)

    return Kind("npz", samples, read, lines=True)


def _idx(a: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 8, a.ndim) + struct.pack(f">{a.ndim}I", *a.shape)
    return head + a.astype(np.uint8).tobytes()


def idx_files() -> Kind:
    from rushlight.vision.datasets import MNIST

    images, labels = _idx(np.zeros((5, 28, 28))), _idx(np.arange(5))
    packed = gzip.compress(images)

    def read(data: bytes, folder: Path) -> None:
        raw = folder / "MNIST" / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        (raw / "train-labels-idx1-ubyte").write_bytes(labels)
        for name in ("train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"):
            (raw / name).unlink(missing_ok=True)
        end = ".gz" if data[:1] == b"\x1f" else ""
        (raw / f"train-images-idx3-ubyte{end}").write_bytes(data)
        MNIST(folder)

    # Of a dataset that is not there or damaged: PyTorch's RuntimeError, with advice.
    return Kind("idx", [images, packed], read, errors=(RuntimeError,), lines=True)


def _cifar_batch(n: int) -> dict:
    rng = np.random.default_rng(n)
    return {"labels": [1] * n, "data": rng.integers(0, 256, (n, 3072), np.uint8), "x": b"bytes"}


def cifar_files() -> Kind:
    from rushlight.vision.datasets.cifar import read_pickle

    samples = [pickle.dumps(_cifar_batch(1), protocol) for protocol in (2, 4)]
    return Kind("cifar", samples, lambda data, folder: read_pickle(data), words=WORDS)


def cifar_archives() -> Kind:
    from rushlight.vision.datasets import CIFAR10

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in [("test_batch", _cifar_batch(1)), ("batches.meta", {"label_names": ["a", "b"]})]:
            raw = pickle.dumps(content, 2)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))

    def read(data: bytes, folder: Path) -> None:
        for old in folder.glob("cifar-10-batches-py/*"):
            old.unlink()
        (folder / CIFAR10.filename).write_bytes(data)
        CIFAR10(folder, train=False)

    return Kind("cifar archive", [buffer.getvalue()], read, errors=(RuntimeError,), lines=True)


def _picture(form: str, mode: str = "RGB", **options: object) -> bytes:
    from PIL import Image

    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8)).convert(mode)
    buffer = io.BytesIO()
    picture.save(buffer, form, **options)
    return buffer.getvalue()


def _pictures() -> list[bytes]:
    return [
        _picture("PNG"), _picture("PNG", "P"), _picture("JPEG"), _picture("BMP"), _picture("GIF"),
        _picture("PPM"), _picture("TIFF"), _picture("WEBP"),
    ]  # fmt: skip


def images() -> Kind:
    from rushlight.vision.io import decode_image

    def read(data: bytes, folder: Path) -> None:
        if data:
            decode_image(rl.from_numpy(np.frombuffer(data, np.uint8).copy()))

    return Kind("image", _pictures(), read, lines=True)


def images_of_the_command_line() -> Kind:
    from rushlight.cli.data.pictures import open_picture

    def read(data: bytes, folder: Path) -> None:
        path = folder / "x.png"
        path.write_bytes(data)
        open_picture(str(path))

    return Kind("image to predict", _pictures(), read, errors=(UsageError,), lines=True)


def _archives() -> list[bytes]:
    samples = []
    for mode in ("w", "w:gz", "w:xz"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=mode) as tar:
            for name in ("a/b.txt", "../outside.txt", "/tmp/outside-of-trust.txt"):
                info = tarfile.TarInfo(name)
                info.size = 5
                tar.addfile(info, io.BytesIO(b"hello"))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "../.."
            tar.addfile(link)
        samples.append(buffer.getvalue())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("a/b.txt", b"hello" * 10)
        z.writestr("../outside.txt", b"hello")
        z.writestr("bomb.bin", bytes(1 << 20))
    return [*samples, buffer.getvalue(), gzip.compress(b"hello" * 100)]


def archives() -> Kind:
    from rushlight.vision.datasets.utils import extract_archive

    def read(data: bytes, folder: Path) -> None:
        name = "x.zip" if data[:1] == b"P" else "x.gz" if len(data) % 3 == 0 else "x.tar.gz"
        name = "x.tar.xz" if data[:1] == b"\xfd" else "x.tar" if data[:1] == b"a" else name
        (folder / name).write_bytes(data)
        try:
            extract_archive(folder / name, folder / "to")
        finally:
            if os.path.exists("/tmp/outside-of-trust.txt"):
                raise SystemExit("an archive wrote outside of its folder")

    return Kind("archive", _archives(), read, lines=True)


def checkpoints() -> Kind:
    """What `predict`, `eval` and `train --resume` read from a run's folder, up to the network."""
    from rushlight.cli import config, evaluate
    from rushlight.cli.training import checkpoint, networks

    net = networks.build("mlp", channels=1, size=8, classes=2, width=1)
    optimizer = rl.optim.SGD(net.parameters(), 0.1)
    content = {
        "config": {**config.DEFAULTS, "model": "mlp", "width": 1, "lr": 0.1, "data": "x", "augment": "none",
                   "epochs": 2, "batch_size": 4, "optimizer": "sgd", "weight_decay": 0.0,
                   "label_smoothing": 0.0, "mixup": 0.0, "ema": 0.0, "views": 1},
        "data": "x", "data_dir": "data", "classes": ["a", "b"], "count": 4, "channels": 1, "size": 8,
        "mean": (0.5,), "std": (0.5,), "model": net.state_dict(), "average": None, "optimizer": optimizer.state_dict(),
        "schedule": {}, "epoch": 1, "step": 0, "sums": [0.0, 0, 0], "history": [],
        "best": {"epoch": 1, "accuracy": 0.5, "loss": 0.7}, "scaler": None, "rng": rl.get_rng_state(), "cuda_rng": None, "format": checkpoint.FORMAT,
    }  # fmt: skip
    with zipfile.ZipFile(io.BytesIO(_saved(content))) as z:
        records = {n: z.read(n) for n in z.namelist()}

    def finish(data: bytes) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as z:
            for name, raw in {**records, "archive/data.pkl": data}.items():
                z.writestr(name, raw)
        return buffer.getvalue()

    def read(data: bytes, folder: Path) -> None:
        path = folder / "model.pth"
        path.write_bytes(data)
        evaluate.check_weights(checkpoint.read(str(path)))

    return Kind("checkpoint", [records["archive/data.pkl"]], read, (UsageError,), WORDS, finish)


KINDS = (
    zip_files, pickles, legacy_files, safetensors_files, npz_files, idx_files, cifar_files,
    cifar_archives, images, images_of_the_command_line, archives, checkpoints,
)  # fmt: skip
