"""Small datasets in the published file formats, for the vision tests."""

from __future__ import annotations

import gzip
import pickle
import struct
import tarfile
from pathlib import Path

import numpy as np

CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def cifar_batch(n: int, seed: int, label_key: str = "labels") -> dict:
    rng = np.random.default_rng(seed)
    return {
        "batch_label": f"batch {seed}",
        label_key: rng.integers(0, 10, n).tolist(),
        "data": rng.integers(0, 256, (n, 3072), dtype=np.uint8),
        "filenames": [f"{seed}_{i}.png" for i in range(n)],
    }


def write_cifar10(root: Path, n: int = 12, protocol: int = 2) -> Path:
    """A CIFAR-10 of n pictures per file."""
    folder = root / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for k, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
        (folder / name).write_bytes(pickle.dumps(cifar_batch(n, k), protocol=protocol))
    meta = {"label_names": CLASSES, "num_cases_per_batch": n, "num_vis": 3072}
    (folder / "batches.meta").write_bytes(pickle.dumps(meta, protocol=protocol))
    return folder


def write_cifar100(root: Path, n: int = 12) -> None:
    folder = root / "cifar-100-python"
    folder.mkdir(parents=True)
    for k, name in enumerate(("train", "test")):
        (folder / name).write_bytes(pickle.dumps(cifar_batch(n, k, "fine_labels"), protocol=2))
    meta = {"fine_label_names": [f"c{i}" for i in range(100)]}
    (folder / "meta").write_bytes(pickle.dumps(meta, protocol=2))


def pack_cifar10(root: Path, folder: Path) -> Path:
    """The folder as the published archive; the folder goes."""
    archive = root / "cifar-10-python.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, folder.name)
    for f in folder.iterdir():
        f.unlink()
    folder.rmdir()
    return archive


def idx(a: np.ndarray) -> bytes:
    head = struct.pack(">HBB", 0, 8, a.ndim) + struct.pack(f">{a.ndim}I", *a.shape)
    return head + a.astype(np.uint8).tobytes()


def write_mnist(root: Path, name: str = "MNIST", n: int = 20, packed: bool = False) -> Path:
    """An MNIST of n pictures per split."""
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(5)
    for part in ("train", "t10k"):
        files = {
            f"{part}-images-idx3-ubyte": rng.integers(0, 256, (n, 28, 28)),
            f"{part}-labels-idx1-ubyte": rng.integers(0, 10, n),
        }
        for file, a in files.items():
            if packed:
                (folder / (file + ".gz")).write_bytes(gzip.compress(idx(a), mtime=0))
            else:
                (folder / file).write_bytes(idx(a))
    return folder
