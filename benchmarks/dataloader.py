"""The data loader of the CIFAR-10 lab, ours and PyTorch's in one run, in batches per second.

    python benchmarks/dataloader.py --root DIR [--seconds 5] [--rounds 3] [--json FILE]

DIR holds `cifar-10-batches-py`. Two settings are measured: the lab's own (batch 4, shuffle, 2 workers,
ToTensor and Normalize) and the usual training one (batch 128, random crop and flip besides). The two
libraries take turns, round by round, so that a busy machine is unfair to both alike; the ratio is that of
the medians. PyTorch's side uses torchvision where it is installed; where it is not, a dataset that takes
the same steps as torchvision's does (a PIL image per sample, then the transforms one by one).
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

MEAN = STD = (0.5, 0.5, 0.5)
SETTINGS = {
    "lab: batch 4": {"batch_size": 4, "augment": False, "goal": 20},
    "crop and flip: batch 128": {"batch_size": 128, "augment": True, "goal": 10},
}


def our_loader(root: str, batch_size: int, augment: bool, workers: int) -> Iterable[Any]:
    """The lab's lines with `import rushlight as torch`."""
    from rushlight.utils.data import DataLoader
    from rushlight.vision import datasets, transforms

    steps = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
    if augment:
        steps = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), *steps]
    data = datasets.CIFAR10(root=root, train=True, transform=transforms.Compose(steps))
    return DataLoader(data, batch_size=batch_size, shuffle=True, num_workers=workers)


def torch_loader(root: str, batch_size: int, augment: bool, workers: int) -> Iterable[Any]:
    """The lab's lines as they are."""
    from torch.utils.data import DataLoader

    try:
        from torchvision import datasets, transforms
    except ImportError:
        data: Any = _SameSteps(root, augment)
    else:
        steps = [transforms.ToTensor(), transforms.Normalize(MEAN, STD)]
        if augment:
            steps = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(), *steps]
        data = datasets.CIFAR10(root=root, train=True, transform=transforms.Compose(steps))
    return DataLoader(data, batch_size=batch_size, shuffle=True, num_workers=workers)


class _SameSteps:
    """CIFAR-10 for PyTorch without torchvision: the same work per sample, in the same order."""

    def __init__(self, root: str, augment: bool) -> None:
        import numpy as np
        import torch

        pictures, self.targets = [], []
        for i in range(1, 6):
            with open(Path(root, "cifar-10-batches-py", f"data_batch_{i}"), "rb") as f:
                batch = pickle.load(f, encoding="latin1")
            pictures.append(batch["data"])
            self.targets += batch["labels"]
        self.data = np.vstack(pictures).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.augment = augment
        self.mean = torch.tensor(MEAN).view(-1, 1, 1)
        self.std = torch.tensor(STD).view(-1, 1, 1)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, i: int) -> tuple[Any, int]:
        import numpy as np
        import torch
        from PIL import Image, ImageOps

        picture = Image.fromarray(self.data[i])
        if self.augment:
            picture = ImageOps.expand(picture, border=4, fill=0)
            top = torch.randint(0, 9, size=(1,)).item()
            left = torch.randint(0, 9, size=(1,)).item()
            picture = picture.crop((left, top, left + 32, top + 32))
            if torch.rand(1) < 0.5:
                picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        x = torch.from_numpy(np.array(picture, np.uint8, copy=True)).permute(2, 0, 1).contiguous()
        x = x.to(dtype=torch.get_default_dtype()).div(255)
        return x.clone().sub_(self.mean).div_(self.std), self.targets[i]


def rate(loader: Iterable[Any], seconds: float) -> float:
    """Batches per second, from the first batch on (starting workers is not counted)."""
    batches = 0
    spent = 0.0
    while spent < seconds:
        it = iter(loader)
        next(it)
        start = time.perf_counter()
        for _ in it:
            batches += 1
            if batches % 16 == 0 and spent + time.perf_counter() - start >= seconds:
                break
        spent += time.perf_counter() - start
        del it
    return batches / spent


def compare(root: str, setting: dict, seconds: float, rounds: int, workers: int) -> dict:
    """Both libraries in turns; medians and their ratio."""
    makers: dict[str, Callable] = {"rushlight": our_loader, "torch": torch_loader}
    loaders = {name: make(root, setting["batch_size"], setting["augment"], workers) for name, make in makers.items()}
    rates: dict[str, list[float]] = {name: [] for name in loaders}
    for _ in range(rounds):
        for name, loader in loaders.items():
            rates[name].append(rate(loader, seconds))
    medians = {name: statistics.median(r) for name, r in rates.items()}
    return {
        **{f"{name} batches/s": round(value, 1) for name, value in medians.items()},
        "ratio": round(medians["rushlight"] / medians["torch"], 2),
        "goal": setting["goal"],
        "rounds": {name: [round(x, 1) for x in r] for name, r in rates.items()},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", required=True, help="the folder of cifar-10-batches-py")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", help="also write the numbers to this file")
    options = parser.parse_args()
    if not Path(options.root, "cifar-10-batches-py").is_dir():
        print(f"no cifar-10-batches-py in {options.root}", file=sys.stderr)
        return 2
    results = {}
    for name, setting in SETTINGS.items():
        found = compare(options.root, setting, options.seconds, options.rounds, options.workers)
        results[name] = found
        print(
            f"{name:26} rushlight {found['rushlight batches/s']:>10,.0f}/s   "
            f"torch {found['torch batches/s']:>8,.0f}/s   {found['ratio']:.1f}x (goal {found['goal']}x)"
        )
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
