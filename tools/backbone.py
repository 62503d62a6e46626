"""Makes the backbone that `rushlight train` starts from: packs its data, trains it, writes it into the package.

    python tools/backbone.py pack DATA PACK       DATA: what the three sets and openclipart-png were unpacked into
    python tools/backbone.py train PACK OUT       OUT/backbone.pth and OUT/log.txt; --seconds, --device
    python tools/backbone.py install OUT          into src/rushlight/vision/embedded

One network learns every set at once: a batch has a share of each, and the loss of a picture knows only the classes of
its own set. Shapes and textures are drawn by tools/backbone_drawn.py. Every picture is turned, cut, coloured and
made noisy on the device. The learning rate follows the clock, so a run ends in time on any machine.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import backbone_drawn as drawn  # noqa: E402
import backbone_pack as packed  # noqa: E402

import rushlight as rl  # noqa: E402
from rushlight.nn import functional as F  # noqa: E402
from rushlight.vision import models  # noqa: E402

SIDE = drawn.SIDE
RATE, DECAY, RISE, SMOOTHING = 3e-3, 0.05, 0.05, 0.1
AVERAGE_EVERY, AVERAGE_SHARE = (8, 0.02)  # the answer is an average of the weights over about 400 steps
SAVE_EVERY_S = 60.0
EMBEDDED = HERE.parent / "src/rushlight/vision/embedded/resnet18_small.pth"


class Pool(NamedTuple):
    """Pictures of one set on the device, as bytes (N, 3 or 4, H, W), and how they may be changed."""

    name: str
    pixels: Any
    labels: Any
    classes: int
    share: int  # of every 16 pictures of a batch
    flips: bool
    turn: float  # radians
    ink: bool  # grey on black, to be coloured


def pools(pack: dict[str, np.ndarray], device: str, each: int, draw_on: str) -> tuple[list[Pool], dict[str, Any]]:
    """The sets to learn from, and those that watch."""

    def there(a: Any, dtype: Any = None) -> Any:
        return rl.tensor(np.ascontiguousarray(a if dtype is None else a.astype(dtype))).to(device)

    pictures = packed.unfold(pack["cifar_light"], pack["cifar_colour"])
    labels = pack["cifar_labels"].astype(np.int64)
    cut = len(labels) - packed.CIFAR_WATCH if len(labels) > packed.CIFAR_WATCH else len(labels) // 2
    clip, subjects = pack["clip"] * np.uint8(8) + np.uint8(4), pack["clip_labels"].astype(np.int64)
    watch_clip = np.arange(len(clip)) % 10 == 0
    grey = {name: np.repeat(pack[name][:, None], 3, 1) for name in ("mnist", "fashionmnist", "glyph")}
    shapes, shape_labels = (t.to(device) for t in drawn.pool(drawn.shape, drawn.SHAPES, each, draw_on))
    textures, texture_labels = (t.to(device) for t in drawn.pool(drawn.texture, drawn.TEXTURES, each // 2, draw_on))
    train = [
        Pool("cifar10", there(pictures[:cut]), there(labels[:cut]), 10, 8, True, 0.2, False),
        Pool("clip art", there(clip[~watch_clip]), there(subjects[~watch_clip]), len(pack["clip_names"]), 2, True, 0.3, False),
        Pool("shapes", shapes, shape_labels, len(drawn.SHAPES), 2, True, 0.5, False),
        Pool("textures", textures, texture_labels, len(drawn.TEXTURES), 1, False, 0.1, False),
        Pool("glyphs", there(grey["glyph"]), there(pack["glyph_labels"], np.int64), len(packed.GLYPHS), 1, False, 0.25, True),
        Pool("mnist", there(grey["mnist"]), there(pack["mnist_labels"], np.int64), 10, 1, False, 0.2, True),
        Pool("fashion", there(grey["fashionmnist"]), there(pack["fashionmnist_labels"], np.int64), 10, 1, True, 0.2, True),
    ]  # fmt: skip
    watch = {
        "cifar10": (there(pictures[cut:]), there(labels[cut:])),
        "clip art": (there(clip[watch_clip]), there(subjects[watch_clip])),
    }
    return train, watch


# -- changes of pictures ---------------------------------------------------------------------------


def varied(pool: Pool, count: int, device: str) -> tuple[Any, Any]:
    """`count` pictures of a pool, each changed in its own way: (count, 3, 64, 64) from 0 to 1, and labels."""
    at = rl.randint(0, len(pool.labels), (count,), device=device)
    x = pool.pixels[at].float() / 255
    x = F.grid_sample(x, _places(pool, count, device), mode="bilinear",
                      padding_mode="reflection" if x.shape[1] == 3 and not pool.ink else "zeros",
                      align_corners=False)  # fmt: skip
    one = (count, 1, 1, 1)
    if x.shape[1] == 4:  # clip art lies on some ground
        cover = x[:, 3:]
        behind = rl.where(
            rl.rand(*one, device=device) < 0.4,
            (rl.rand(*one, device=device) * 3).floor() / 2,  # black, grey, white
            drawn.ground(count, device),
        )
        x = x[:, :3] * cover + behind * (1 - cover)
    if pool.ink:  # grey on black half the time; else any ink on any ground
        low, high = drawn.ground(count, device), rl.rand(count, 3, 1, 1, device=device)
        high = rl.where(low.mean((2, 3), keepdim=True) > 0.5, high * 0.6 - 0.2, high * 0.6 + 0.6)
        x = rl.where(rl.rand(*one, device=device) < 0.5, x, low * (1 - x) + high * x)
    return _coloured(x, count, device), pool.labels[at]


def _places(pool: Pool, count: int, device: str) -> Any:
    """Where each pixel of the result lies in its picture: zoomed, stretched, turned, shifted, flipped."""
    zoom = rl.exp(drawn.between(math.log(0.6), math.log(1.12), count, device=device))
    stretch = rl.exp(drawn.between(-0.2, 0.2, count, device=device))
    turn = drawn.between(-pool.turn, pool.turn, count, device=device)
    turn = turn * (rl.rand(count, device=device) < 0.5).float()
    wide, high = zoom * stretch, zoom / stretch
    if pool.flips:
        wide = wide * ((rl.rand(count, device=device) < 0.5).float() * 2 - 1)
    room = (1 - zoom).abs() + 0.06
    dx = drawn.between(-1, 1, count, device=device) * room
    dy = drawn.between(-1, 1, count, device=device) * room
    rows = [rl.stack([wide * turn.cos(), -high * turn.sin(), dx], 1),
            rl.stack([wide * turn.sin(), high * turn.cos(), dy], 1)]  # fmt: skip
    return F.affine_grid(rl.stack(rows, 1), [count, 3, SIDE, SIDE], align_corners=False)


def _coloured(x: Any, count: int, device: str) -> Any:
    """Brighter or darker, paler, tinted, grey, blurred, grainy, a square cut out: each some of the time."""
    one = (count, 1, 1, 1)

    def sometimes(share: float) -> Any:
        return (rl.rand(*one, device=device) < share).float()

    mean = x.mean((1, 2, 3), keepdim=True)
    x = (x - mean) * drawn.between(0.6, 1.4, *one, device=device) + mean
    x = x + drawn.between(-0.2, 0.2, *one, device=device)
    x = x * drawn.between(0.85, 1.15, count, 3, 1, 1, device=device)
    grey = sometimes(0.1)
    x = x * (1 - grey) + x.mean(1, keepdim=True) * grey
    blur = sometimes(0.2)
    x = x * (1 - blur) + F.avg_pool2d(x, 3, 1, 1) * blur
    x = x + (rl.rand(*x.shape, device=device) - 0.5) * (0.3 * sometimes(0.2))
    across, down = drawn.plane(count, device)
    middle = drawn.between(-1, 1, count, 2, 1, 1, device=device)
    hole = ((across - middle[:, 0]).abs() < 0.3) & ((down - middle[:, 1]).abs() < 0.3)
    kept = 1 - hole.float().unsqueeze(1) * sometimes(0.3)
    return (x * kept + 0.5 * (1 - kept)).clamp(0, 1)


def scaled(x: Any) -> Any:
    """Pixels as `rushlight train` gives them to a network."""
    mean = rl.tensor([0.485, 0.456, 0.406], device=x.device).view(1, 3, 1, 1)
    std = rl.tensor([0.229, 0.224, 0.225], device=x.device).view(1, 3, 1, 1)
    return (x - mean) / std


# -- training --------------------------------------------------------------------------------------


class Training:
    """The network, its average, and one step."""

    def __init__(self, args: argparse.Namespace, sets: list[Pool], compiled: bool, half: bool) -> None:
        self.args, self.sets, self.half = args, sets, half
        self.first = np.cumsum([0, *(s.classes for s in sets)]).tolist()
        self.counts = [args.batch * s.share // 16 for s in sets]
        rl.manual_seed(args.seed)
        self.net = models.resnet18_small(num_classes=self.first[-1]).to(args.device)
        if half:
            self.net.to(memory_format=rl.channels_last)
        flat = [p for p in self.net.parameters() if p.dim() <= 1]
        wide = [p for p in self.net.parameters() if p.dim() > 1]
        self.optimizer = rl.optim.AdamW([{"params": wide}, {"params": flat, "weight_decay": 0.0}],
                                        lr=RATE, weight_decay=DECAY)  # fmt: skip
        self.own = self._own()
        self.average = {k: v.detach().clone() for k, v in self.net.state_dict().items()}
        self.one_step = rl.compile(self.step) if compiled else self.step

    def _own(self) -> Any:
        """-30 for the classes of other sets than a picture's: (pictures of a batch, classes)."""
        rows = np.full((sum(self.counts), self.first[-1]), -30.0, np.float32)
        at = 0
        for i, count in enumerate(self.counts):
            rows[at : at + count, self.first[i] : self.first[i + 1]] = 0
            at += count
        return rl.tensor(rows).to(self.args.device)

    def batch(self) -> tuple[Any, Any]:
        """Pictures and labels, every set's share in turn."""
        place = str(self.sets[0].pixels.device)
        made = [varied(s, n, place) for s, n in zip(self.sets, self.counts)]
        labels = rl.cat([y + begin for (_, y), begin in zip(made, self.first)])
        x = scaled(rl.cat([x for x, _ in made]).to(self.args.device))
        if self.half:
            x = x.contiguous(memory_format=rl.channels_last)
        return x, labels.to(self.args.device)

    def step(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        if self.half:
            with rl.autocast(self.args.device.partition(":")[0], dtype=rl.bfloat16):
                out = self.net(x)
            out = out.float()
        else:
            out = self.net(x)
        # Only a picture's own classes share what smoothing gives away.
        log = F.log_softmax(out + self.own, 1)
        mine = (self.own == 0).float()
        spread = -(log * mine).sum(1) / mine.sum(1)
        loss = ((1 - SMOOTHING) * F.nll_loss(log, y, reduction="none") + SMOOTHING * spread).mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def follow(self, rate: float, steps: int) -> None:
        """The rate of the next step; the average moves a little."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if steps % AVERAGE_EVERY == 0:
            share = max(AVERAGE_SHARE, 1 / (1 + steps / AVERAGE_EVERY))
            with rl.no_grad():
                for name, value in self.net.state_dict().items():
                    if value.is_floating_point():
                        self.average[name].lerp_(value.detach(), share)
                    else:
                        self.average[name].copy_(value)

    def averaged(self) -> Any:
        """A network with the averaged weights."""
        net = models.resnet18_small(num_classes=self.first[-1]).to(self.args.device)
        net.load_state_dict(self.average)
        return net.eval()


def accuracy(net: Any, training: Training, name: str, pixels: Any, labels: Any) -> float:
    """Of pictures as they are, among the classes of their set."""
    i = [s.name for s in training.sets].index(name)
    right = 0
    with rl.no_grad():
        for at in range(0, len(labels), 500):
            x = pixels[at : at + 500].float() / 255
            if x.shape[1] == 4:
                x = x[:, :3] * x[:, 3:] + (1 - x[:, 3:])
            x = F.interpolate(x, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
            out = net(scaled(x))[:, training.first[i] : training.first[i + 1]]
            right += int((out.argmax(1) == labels[at : at + 500]).sum())
    return right / max(1, len(labels))


def rate_at(share: float) -> float:
    """Of the time: up along a line, then down along half a cosine."""
    if share < RISE:
        return RATE * (0.05 + 0.95 * share / RISE)
    return RATE * max(1e-4, 0.5 + 0.5 * math.cos(math.pi * min(1, (share - RISE) / (1 - RISE))))


def begin(args: argparse.Namespace, sets: list[Pool], say: Any) -> Training:
    """The quickest way that works here: compiled, in half precision, pictures changed on the GPU; or plainer."""
    ways = [(True, True, True), (False, True, True), (False, False, True), (True, True, False), (False, False, False)]
    for compiled, half, there in ways if args.device != "cpu" else [(True, False, True)]:
        way = f"compiled {compiled}, half precision {half}, pictures on the device {there}"
        try:
            some = sets if there else [s._replace(pixels=s.pixels.cpu(), labels=s.labels.cpu()) for s in sets]
            made = Training(args, some, compiled, half)
            for _ in range(4):
                loss = float(made.one_step(*made.batch()))
            if math.isfinite(loss):
                say(f"{way}: loss {loss:.3f}")
                return made
            say(f"{way}: the loss is {loss}")
        except Exception:
            say(f"{way} failed:\n{traceback.format_exc()}")
    raise SystemExit("no way of training works here")


def train(args: argparse.Namespace) -> None:
    """Train until the time is over; every minute what there is goes to a file."""
    start = time.perf_counter()
    args.out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(f"{time.perf_counter() - start:7.1f} s  {line}")
        print(lines[-1], flush=True)
        (args.out / "log.txt").write_text("\n".join(lines) + "\n")

    rl.manual_seed(args.seed)
    pack = packed.read(args.pack)
    say("the pack is read")
    try:
        sets, watch = pools(pack, args.device, args.drawn, args.device)
    except Exception:
        say(f"pictures are drawn on the CPU, since on the device:\n{traceback.format_exc()}")
        sets, watch = pools(pack, args.device, args.drawn // 4, "cpu")
    say("; ".join(f"{s.name} {len(s.labels):,} of {s.classes}" for s in sets))
    training = begin(args, sets, say)
    end = start + args.seconds
    first = saved = time.perf_counter()
    steps = 0
    while (now := time.perf_counter()) < end:
        training.follow(rate_at((now - first) / (end - first)), steps)
        training.net.train()
        loss = training.one_step(*training.batch())
        steps += 1
        if steps % 20 == 0:
            float(loss)  # the clock must not run ahead of the device
        if now - saved > SAVE_EVERY_S or steps == 40:
            saved = now
            keep(args, training, watch, steps, float(loss), say)
    keep(args, training, watch, steps, float(loss), say)


def keep(args: argparse.Namespace, training: Training, watch: Any, steps: int, loss: float, say: Any) -> None:
    """Write the averaged network in half precision, read it back, say how good that is."""
    path = args.out / "backbone.pth"
    body = {k: v.cpu().half() for k, v in training.average.items() if v.is_floating_point() and not k.startswith("fc.")}
    rl.save(body, str(path))
    net = training.averaged()
    own = net.state_dict()
    own.update({k: v.float().to(args.device) for k, v in rl.load(str(path)).items()})
    net.load_state_dict(own)
    found = [f"{name} {accuracy(net, training, name, *some):.2%}" for name, some in watch.items()]
    say(f"step {steps:,} ({steps * sum(training.counts):,} pictures): loss {loss:.3f}; of pictures kept apart: {', '.join(found)}; "
        f"{path.stat().st_size / 1e6:.2f} MB")  # fmt: skip


def main() -> None:
    """The three commands."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    p = commands.add_parser("pack")
    p.add_argument("data", type=Path)
    p.add_argument("pack", type=Path)
    t = commands.add_parser("train")
    t.add_argument("pack", type=Path)
    t.add_argument("out", type=Path)
    t.add_argument("--seconds", type=float, default=400.0)
    t.add_argument("--device", default="cuda" if rl.cuda.is_available() else "cpu")
    t.add_argument("--batch", type=int, default=1024)
    t.add_argument("--drawn", type=int, default=2000, help="pictures of each shape")
    t.add_argument("--seed", type=int, default=0)
    i = commands.add_parser("install")
    i.add_argument("out", type=Path)
    args = parser.parse_args()
    if args.command == "pack":
        packed.write(args.data, args.pack)
    elif args.command == "train":
        train(args)
    else:
        shutil.copyfile(args.out / "backbone.pth", EMBEDDED)
        print(f"wrote {EMBEDDED.name}, {EMBEDDED.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
