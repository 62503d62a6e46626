"""The CIFAR-10 lab of the seed documents, unmodified, under `rushlight run` and beside PyTorch."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_help import COMMAND, ROOT, environment

CLASSES = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
# Losses agree to 5e-7 for some 700 steps; then rounding parts the ways, as it does those of PyTorch
# with one thread and with two, which differ by up to 2e-3 before step 1000 of the real data.
STEPS = 300


def _rows(folder: Path, name: str, count: int) -> tuple[np.ndarray, list[int]]:
    """Images and labels of one file: real ones where the data set lies in the repository's data/."""
    real = ROOT / "data" / "cifar-10-batches-py" / name
    if real.is_file():
        with open(real, "rb") as f:
            found = pickle.load(f, encoding="latin1")
        return np.asarray(found["data"])[:count], list(found["labels"])[:count]
    draw = np.random.default_rng(len(name) + ord(name[-1]))
    labels = draw.integers(0, 10, count)
    colours = np.random.default_rng(0).integers(40, 215, (10, 3, 4, 4))  # each class its patches
    images = np.kron(colours[labels], np.ones((8, 8))) + draw.normal(0, 40, (count, 3, 32, 32))
    return images.clip(0, 255).astype(np.uint8).reshape(count, 3072), labels.tolist()


def write_cifar(folder: Path, train: int, test: int) -> None:
    """A small CIFAR-10 in the published layout."""
    folder = folder / "data" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    files = {f"data_batch_{i}": train // 5 for i in range(1, 6)} | {"test_batch": test}
    for name, count in files.items():
        data, labels = _rows(folder, name, count)
        with open(folder / name, "wb") as f:
            pickle.dump({"batch_label": name, "labels": labels, "data": data}, f, 4)
    with open(folder / "batches.meta", "wb") as f:
        pickle.dump({"label_names": list(CLASSES), "num_vis": 3072}, f, 4)


@pytest.fixture(scope="module")
def lab(tmp_path_factory, request) -> Path:
    """A folder as the lab's student has it: the script, and the data beside it."""
    shared = request.getfixturevalue("shared")
    folder = tmp_path_factory.mktemp("lab")
    write_cifar(folder, train=8040, test=400)
    (folder / "cifar10_gpu.py").write_text((shared / "seeds" / "cifar10_gpu.py").read_text())
    return folder


def test_the_lab_prints_what_the_lab_prints(lab: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "run", "cifar10_gpu.py"], cwd=lab, env=environment(), text=True, capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = [x for x in done.stdout.splitlines() if not x.startswith("Files already")]
    losses = [re.fullmatch(r"\[(\d), +2000\] loss: (\d\.\d{3})", x) for x in lines[:2]]
    assert [found and found[1] for found in losses] == ["1", "2"], lines
    first, second = (float(found[2]) for found in losses if found)
    assert second < first < 2.4
    assert lines[2] == "Finished Training"
    overall = re.fullmatch(r"Accuracy of the network on the 10000 test images: (\d+) %", lines[3])
    assert overall and int(overall[1]) > 25
    assert len(lines) == 14
    for name, line in zip(CLASSES, lines[4:]):
        assert re.fullmatch(rf"Accuracy of {name:>5} : [ \d]\d+ %", line)
    assert (lab / "cifar_net.pth").exists()


# Before the script: the seed, and a record of every loss that the script reads.
RECORD = """
import json, sys, torch
torch.manual_seed(0)
_read, _losses = torch.Tensor.item, []
def _record(self):
    if not self.requires_grad:  # the seeds of PyTorch's loader
        return _read(self)
    _losses.append(_read(self))
    if len(_losses) == int(sys.argv[1]):
        json.dump(_losses, open(sys.argv[2], "w"))
        sys.exit()
    return _losses[-1]
torch.Tensor.item = _record
"""

# As much of torchvision as the lab needs, for PyTorch's run; torchvision need not be installed.
TORCHVISION = {
    "__init__.py": "from . import datasets, transforms",
    "transforms.py": """
import numpy, torch

class Compose:
    def __init__(self, steps): self.steps = steps
    def __call__(self, x):
        for step in self.steps: x = step(x)
        return x

class ToTensor:
    def __call__(self, a):
        return torch.from_numpy(numpy.ascontiguousarray(a.transpose(2, 0, 1))).float().div(255)

class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)
    def __call__(self, x): return (x - self.mean) / self.std
""",
    "datasets.py": """
import os, pickle, numpy

class CIFAR10:
    def __init__(self, root, train, download, transform):
        names = [f"data_batch_{i}" for i in range(1, 6)] if train else ["test_batch"]
        parts = [pickle.load(open(os.path.join(root, "cifar-10-batches-py", n), "rb"))
                 for n in names]
        data = numpy.concatenate([p["data"] for p in parts])
        self.data = data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = sum((list(p["labels"]) for p in parts), [])
        self.transform = transform
    def __len__(self): return len(self.data)
    def __getitem__(self, i): return self.transform(self.data[i]), self.targets[i]
""",
}


def test_losses_follow_pytorch(lab: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (lab / "seeded.py").write_text(RECORD + (lab / "cifar10_gpu.py").read_text())
    shim = tmp_path / "shim" / "torchvision"
    shim.mkdir(parents=True)
    for name, text in TORCHVISION.items():
        (shim / name).write_text(text)
    theirs = {**os.environ, "PYTHONPATH": str(shim.parent), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    found = {}
    for name, command, env in (("ours", [*COMMAND, "run"], environment()), ("theirs", [sys.executable], theirs)):
        done = subprocess.run(
            [*command, "seeded.py", str(STEPS), f"{name}.json"],
            cwd=lab, env={**env, "CUDA_VISIBLE_DEVICES": "", "RUSHLIGHT_NO_CUDA": "1"},
            text=True, capture_output=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found[name] = np.array(json.loads((lab / f"{name}.json").read_text()))
    assert len(found["ours"]) == len(found["theirs"]) == STEPS
    np.testing.assert_allclose(found["ours"], found["theirs"], rtol=0, atol=1e-3)
    assert found["ours"][-50:].mean() < found["ours"][:50].mean()  # and they are those of learning
