"""A folder of real photographs: `rushlight train` with its own recipe, and the same recipe in PyTorch beside it.

    python benchmarks/photos.py                      both sets, seeds 0, 1, 2: accuracy and seconds
    python benchmarks/photos.py --sets ground --seeds 0 --epochs 2     a quick try

The pictures are squares of photographs that scikit-image and scikit-learn carry (tools/photo_set.py). Both sides
get the same pictures to train on, to choose the best epoch by and to test on, the same network, optimiser, rates,
augmentation (Pillow's operations, drawn by each side), batch size, epochs and number of threads; decoded pictures
are kept in memory on both sides. Each run is a process of its own; the two take turns. First weights and random
numbers differ, as they do between two seeds. Needs `pip install torch==2.13.0 scikit-image scikit-learn pillow`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("rushlight", "PyTorch")


def ours(folder: Path, out: Path, seed: int, epochs: int | None) -> dict[str, Any]:
    """`rushlight train --data FOLDER` from scratch, with the settings that the other side has, too."""
    more = [
        "--epochs",
        str(epochs or 25),
        "--weights",
        "none",
        "--model",
        "resnet18",
        "--width",
        "0.5",
        "--fit",
        "crop",
        "--ema",
        "0",
        "--views",
        "1",
    ]  # what the other side does, too
    command = [sys.executable, "-m", "rushlight", "train", "--data", str(folder), "--out", str(out),
               "--seed", str(seed), "--device", "cpu", "--quiet", *more]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    test = json.loads((out / "test.json").read_text())
    return {
        "accuracy": test["accuracy"],
        "seconds": test["seconds"],
        "best_epoch": test["best_epoch"],
    }


def theirs(folder: Path, out: Path, seed: int, epochs: int | None) -> dict[str, Any]:
    """The same recipe in a process that imports PyTorch; what to do is in our run's args.json."""
    command = [sys.executable, __file__, "--worker", str(folder), str(out / "args.json"), str(seed)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# -- PyTorch's side ------------------------------------------------------------------------------


def pictures(folder: str, settings: dict[str, Any]) -> Any:
    """The parts of the data set as `rushlight train` splits them: pixels in memory, and labels."""
    from types import SimpleNamespace

    from rushlight.cli.data.sources import find_source, load_images

    wanted = {**settings, "quiet": True, "strict": False, "cache": "memory", "data_dir": "data"}
    return load_images(find_source(folder), SimpleNamespace(**wanted))


def network(torch: Any, classes: int, width: float) -> Any:
    """A ResNet-18 with `width` times the channels, in plain PyTorch."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.relu, self.downsample = nn.ReLU(inplace=True), None
            if stride != 1 or before != after:
                self.downsample = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(out + (x if self.downsample is None else self.downsample(x)))

    first = int(64 * width)
    sizes = [first, first, 2 * first, 4 * first, 8 * first]
    stages = [nn.Sequential(Block(sizes[i], sizes[i + 1], 1 if i == 0 else 2), Block(sizes[i + 1], sizes[i + 1], 1))
              for i in range(4)]  # fmt: skip
    net = nn.Sequential(nn.Conv2d(3, first, 7, 2, 3, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True),
                        nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(8 * first, classes))  # fmt: skip
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    return net


def varied(torch: Any, picture: Any, size: int) -> Any:
    """RandomResizedCrop, a flip, TrivialAugment: the recipe's, on Pillow pictures, drawn by PyTorch."""
    from PIL import Image

    from rushlight.cli.data.augment import _BINS, _LEAST, _SPACE, _apply

    def between(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(()))

    wide, high = picture.size
    box: tuple[float, ...] = (0, 0, wide, high)
    for _ in range(10):
        area, ratio = (
            wide * high * between(_LEAST["strong"], 1.0),
            math.exp(between(-1, 1) * math.log(4 / 3)),
        )
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= wide and 0 < h <= high:
            left, top = (int(torch.randint(0, n + 1, ())) for n in (wide - w, high - h))
            box = (left, top, left + w, top + h)
            break
    picture = picture.crop(box).resize((size, size), Image.Resampling.BILINEAR)
    if float(torch.rand(())) < 0.5:
        picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    name = list(_SPACE)[int(torch.randint(0, len(_SPACE), ()))]
    strongest, signed = _SPACE[name]
    strength = strongest * int(torch.randint(0, _BINS, ())) / (_BINS - 1)
    return _apply(name, picture, -strength if signed and int(torch.randint(0, 2, ())) else strength)


def plain(torch: Any, picture: Any, size: int) -> Any:
    """The middle of a picture, for validation and test."""
    from PIL import Image

    from rushlight.cli.data.augment import MARGIN

    wide, high = picture.size
    scale = round(size * MARGIN) / min(wide, high)
    wide, high = max(size, int(wide * scale)), max(size, int(high * scale))
    picture = picture.resize((wide, high), Image.Resampling.BILINEAR)
    left, top = round((wide - size) / 2), round((high - size) / 2)
    return picture.crop((left, top, left + size, top + size))


def as_dataset(torch: Any, part: Any, prepare: Any, size: int) -> Any:
    """Pictures of ours as a data set of PyTorch's: only the pixels and the labels are shared."""
    import numpy as np
    from PIL import Image

    from rushlight.cli.data.images import PHOTO_SCALE

    mean, std = (torch.tensor(v).view(3, 1, 1) for v in PHOTO_SCALE)

    class Pixels(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(part)

        def __getitem__(self, i: int) -> tuple[Any, int]:
            picture = prepare(torch, Image.fromarray(part.store[part.places[i]]), size)
            x = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float().div(255)
            return (x - mean) / std, part.targets[i]

    return Pixels()


def worker(folder: str, record: str, seed: int) -> None:
    """Train in PyTorch by the settings of a run of ours; print the result as JSON."""
    import torch

    from rushlight.cli.config import RISE
    from rushlight.cli.training.recipes import factor

    settings = json.loads(Path(record).read_text())["settings"]
    asked = {"model": "resnet18", "optimizer": "adamw", "augment": "strong", "mixup": 0.0}
    other = {k: settings[k] for k, v in asked.items() if settings[k] != v}
    if other or settings["size"] <= 40:
        raise SystemExit(
            f"this side knows the recipe for few pictures from scratch only, not {other or settings['size']}"
        )
    torch.manual_seed(seed)
    data = pictures(folder, settings)
    size = settings["size"]
    net = network(torch, len(data.classes), settings["width"])
    wide = [p for p in net.parameters() if p.dim() > 1]
    flat = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": wide}, {"params": flat, "weight_decay": 0.0}],
                                  lr=settings["lr"], weight_decay=settings["weight_decay"])  # fmt: skip
    batch, epochs = settings["batch_size"], settings["epochs"]
    loader = torch.utils.data.DataLoader(as_dataset(torch, data.train, varied, size), batch, shuffle=True,
                                         drop_last=len(data.train) % batch == 1)  # fmt: skip
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, factor("cosine", epochs * len(loader), RISE)
    )
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=settings["label_smoothing"])
    val, test = (as_dataset(torch, p, plain, size) for p in (data.val, data.test))
    best: tuple[float, float] = (-1.0, 0.0)
    at, kept = 0, {}
    begin = time.perf_counter()
    for epoch in range(1, epochs + 1):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()
            schedule.step()
        found = measure(torch, net, val)
        if found > best:
            best, at = found, epoch
            kept = {k: v.clone() for k, v in net.state_dict().items()}
    seconds = time.perf_counter() - begin
    net.load_state_dict(kept)
    right = measure(torch, net, test)[0]
    print(json.dumps({"accuracy": round(right, 6), "seconds": round(seconds, 2), "best_epoch": at}))


def measure(torch: Any, net: Any, data: Any) -> tuple[float, float]:
    """The share of right answers, and minus the mean loss."""
    net.eval()
    right, loss = 0, 0.0
    with torch.no_grad():
        for x, y in torch.utils.data.DataLoader(data, 256):
            out = net(x)
            right += int((out.argmax(1) == y).sum())
            loss += float(torch.nn.functional.cross_entropy(out, y, reduction="sum"))
    return right / len(data), -loss / len(data)


# -- both ----------------------------------------------------------------------------------------


def compare(which: str, seeds: list[int], epochs: int | None, place: Path) -> dict[str, Any]:
    """One set of photographs, every seed, the two sides in turns."""
    from photo_set import SETS, write

    from rushlight.cli.tasks.task import wilson

    folder = place / which
    count = write(folder, which, 122)
    tested = len(list(folder.glob("test/*/*.jpg")))
    rows: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for seed in seeds:
        out = place / f"{which}-{seed}"
        for side, run in zip(SIDES, (ours, theirs)):
            rows[side].append({"seed": seed, **run(folder, out, seed, epochs)})
            found = rows[side][-1]
            print(f"{which:8} seed {seed}  {side:10} {found['accuracy']:7.1%}  {found['seconds']:7.1f} s",
                  flush=True)  # fmt: skip
    summary: dict[str, Any] = {
        "classes": list(SETS[which]),
        "pictures": count,
        "tested": tested,
        "runs": rows,
    }
    for side in SIDES:
        right = sum(round(r["accuracy"] * tested) for r in rows[side])
        low, high = wilson(right, tested * len(seeds))
        summary[side] = {"accuracy": right / (tested * len(seeds)), "interval_95": [round(low, 4), round(high, 4)],
                         "median_seconds": statistics.median(r["seconds"] for r in rows[side])}  # fmt: skip
        print(f"{which:8} all     {side:10} {summary[side]['accuracy']:7.1%} ({low:.1%} to {high:.1%})  "
              f"median {summary[side]['median_seconds']:.1f} s")  # fmt: skip
    return summary


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default="ground,things")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--epochs", type=int, help="(default: 25)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--write", type=Path, metavar="FILE.json")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(
        args.threads
    )  # both frameworks of the processes below follow it
    seeds = [int(s) for s in args.seeds.split(",")]
    with tempfile.TemporaryDirectory() as place:
        found = {
            which: compare(which, seeds, args.epochs, Path(place)) for which in args.sets.split(",")
        }
    if args.write:
        record = {"date": time.strftime("%Y-%m-%d"), "machine": platform.machine(), "threads": args.threads,
                  "epochs": args.epochs or 25, "load": os.getloadavg()[1], "sets": found}  # fmt: skip
        compact.write(args.write, record)


if __name__ == "__main__":
    main()
