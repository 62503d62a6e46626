"""What passes make of many networks' steps: written to a file, and compared with what they made before.

    python tools/programs.py --save before.txt      # then change a pass
    python tools/programs.py --compare before.txt   # which programs are others now, as a diff

Steps are recorded on the CPU and rewritten for it, for a GPU, and for one that finds that every joined kernel pays,
so that small networks show what large ones would get. Numbers of slots are counted anew: names do not matter.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tools")]

from rushlight.cli.scripts.alias import install  # noqa: E402

install()

import fuzz  # noqa: E402
import fuzz_words  # noqa: E402
import numpy as np  # noqa: E402
import park_rows  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

from rushlight.capture.passes import optimise  # noqa: E402
from rushlight.capture.program.slots import Slot  # noqa: E402
from rushlight.capture.record.recording import Recording  # noqa: E402
from rushlight.runtime import joins  # noqa: E402
from rushlight.runtime.cuda import joins as cuda  # noqa: E402

Steps = Iterator[tuple[str, Callable[..., Any], tuple]]


class Half(park_rows.Place):
    """A small network under autocast, as the park runs them on a GPU."""

    def half(self) -> Any:
        return torch.autocast("cpu", dtype=torch.bfloat16)


def training(net: Any, optimiser: str = "SGD", half: bool = False, **how: Any) -> Callable:
    made = getattr(torch.optim, optimiser)(net.parameters(), lr=0.01, **how)

    def step(x: Any, y: Any) -> Any:
        made.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        made.step()
        return loss

    return step


# -- networks --------------------------------------------------------------------------------------


def lab(width: int = 6) -> Any:
    return nn.Sequential(
        nn.Conv2d(3, width, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(width, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10),
    )  # fmt: skip


class Residual(nn.Module):
    """Two convolutions with batch norms, added to their input."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = [nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2)]
        self.m, self.n = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x: Any) -> Any:
        return F.relu(self.n(self.b(F.relu(self.m(self.a(x))))) + x)


class Grouped(nn.Module):
    """Group norms and SiLU around convolutions, as in networks that draw."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.norms = nn.ModuleList([nn.GroupNorm(4, width) for _ in range(2)])
        self.out = nn.Linear(width, 10)

    def forward(self, x: Any) -> Any:
        x = F.silu(self.norms[0](self.a(x)))
        return self.out(F.silu(self.norms[1](self.b(x))).mean((2, 3)))


class Rotating(nn.Module):
    """Attention over rotated queries and keys, between root-mean-square norms and gated layers."""

    def __init__(self, width: int = 32, heads: int = 4, length: int = 8, sliced: bool = True) -> None:
        super().__init__()
        self.heads, self.sliced = heads, sliced
        self.token, self.place = nn.Embedding(50, width), nn.Embedding(length, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.gate, self.down = [nn.Linear(width, width) for _ in range(3)]
        self.norms = nn.ModuleList([nn.RMSNorm(width), nn.LayerNorm(width), nn.RMSNorm(width)])
        angle = torch.arange(length)[:, None] * torch.arange(width // heads)[None] * 0.1
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())
        self.head = nn.Linear(width, 50)

    def turned(self, x: Any) -> Any:
        h = x.shape[-1] // 2
        a, b = (x[..., :h], x[..., h:]) if self.sliced else x.chunk(2, -1)
        return x * self.cos + torch.cat((-b, a), -1) * self.sin

    def forward(self, x: Any) -> Any:
        n, length = x.shape
        x = self.token(x) + self.place(torch.arange(length))
        q, k, v = self.qkv(self.norms[0](x)).split(x.shape[-1], -1)
        q, k, v = [t.view(n, length, self.heads, -1).transpose(1, 2) for t in (q, k, v)]
        q, k = self.turned(q).to(v.dtype), self.turned(k).to(v.dtype)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        h = self.norms[1](x)
        x = x + self.down(F.silu(self.gate(h)) * F.gelu(self.up(h)))
        return self.head(self.norms[2](x)[:, -1])


NETWORKS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "lab": (lab, (4, 3, 32, 32)),
    "wide lab": (lambda: lab(32), (2, 3, 32, 32)),
    "residual": (
        lambda: nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), Residual(32), Residual(32),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), (2, 3, 12, 12)),
    "grouped": (lambda: Grouped(16), (2, 3, 8, 8)),
    "dense": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(48, 64), nn.GELU(), nn.Linear(64, 64),
                                    nn.SiLU(), nn.Linear(64, 32), nn.GELU(approximate="tanh"),
                                    nn.Linear(32, 10)), (8, 3, 4, 4)),
    "dense relu": (lambda: nn.Sequential(nn.Flatten(), nn.Linear(48, 512), nn.ReLU(), nn.Dropout(0.2),
                                         nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), (300, 3, 4, 4)),
    "pools": (lambda: nn.Sequential(nn.Conv2d(3, 8, 3), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(8, 8, 3, bias=False),
                                    nn.ReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(72, 10)), (3, 3, 18, 18)),
    "convolutions": (lambda: nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1),
                                           nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
                                           nn.Linear(1024, 10)), (2, 3, 8, 8)),
}  # fmt: skip
OPTIMISERS = {"Adam": {}, "AdamW": {"amsgrad": True}, "RMSprop": {"momentum": 0.9}, "NAdam": {}, "Adagrad": {},
              "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}}  # fmt: skip
ZOO = ("resnet18", "mobilenet_v3_small", "squeezenet1_1", "shufflenet_v2_x0_5", "efficientnet_b0", "convnext_tiny")


def of_networks() -> Steps:
    draws = np.random.default_rng(1)
    for name, (make, shape) in NETWORKS.items():
        x = torch.from_numpy(draws.standard_normal(shape, dtype=np.float32))
        y = torch.from_numpy(draws.integers(0, 10, shape[0]))
        for half in (False, True):
            step = training(make(), "SGD", half, momentum=0.9)
            yield f"{name}{' half' * half}", step, (x, y)
        net = make().eval()
        yield f"{name} evaluated", torch.no_grad()(net), (x,)
        forward = make()
        yield f"{name} forward", forward, (x,)
    for sliced in (True, False):
        tokens = torch.from_numpy(draws.integers(0, 50, (3, 8)))
        for half in (False, True):
            step = training(Rotating(sliced=sliced), "AdamW", half)
            yield f"rotating {sliced} {half}", step, (tokens, tokens[:, 0])
    for name, how in OPTIMISERS.items():
        x = torch.from_numpy(draws.standard_normal((4, 6), dtype=np.float32))
        net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 10))
        yield f"by {name}", training(net, name, **how), (x, torch.arange(4))


def of_zoo() -> Steps:
    import torchvision

    x = torch.from_numpy(np.random.default_rng(2).standard_normal((2, 3, 64, 64), dtype=np.float32))
    for name in ZOO:
        net = getattr(torchvision.models, name)(num_classes=10)
        yield f"zoo {name}", training(net), (x, torch.arange(2))
        yield f"zoo {name} evaluated", torch.no_grad()(net.eval()), (x,)


def of_park() -> Steps:
    half = {name: park_rows.ROWS[name] for name in ("mobilenet", "resnet50", "vit", "mixer", "unet", "vgg")}
    half["gpt"] = lambda place: park_rows.gpt(place, (2, 4, 64, 512, 64), 4, True)
    for kind, rows in ((park_rows.Place, park_rows.ROWS), (Half, half)):
        for name, make in rows.items():
            work = make(kind("cpu", False, park_rows.plain, np.random.default_rng(0)))
            yield f"park {name} {kind.__name__}", work.step, work.args


def of_chance(count: int = 60) -> Steps:
    """Lines of the fuzzer one after another."""
    reading = ("if ", "backward", ".item()", "try:", "is_contiguous")
    lines = [t for t in fuzz_words.LINES if not any(word in t for word in reading)]
    for seed in range(count):
        r, body, made = random.Random(seed), ["def step(x, y):"], ["x", "y"]
        for k in range(12):
            text = r.choice(lines)
            filled = fuzz_words.filled(text, r, made, f"v{k}")
            body += ["    " + line for line in filled.split("\n")]
            made += [f"v{k}"] * ("NEW" in text)
        body.append(f"    loss = ({' + '.join(made[-3:])}).sum()")
        body.append(
            "    return (loss, *torch.autograd.grad(loss, [w.p, w.lin.weight], allow_unused=True)) if loss.requires_grad else loss"
        )
        names: dict[str, Any] = {"__name__": "chance"}
        exec(fuzz.world("rushlight"), names)
        names["w"] = names["World"]()
        exec(compile("\n".join(body), f"chance {seed}", "exec"), names)
        yield f"chance {seed}", names["step"], (torch.randn(3, 4), torch.randn(3, 4))


# -- programs ---------------------------------------------------------------------------------------


def recorded(step: Callable[..., Any], args: tuple) -> Any:
    step(*args)
    step(*args)
    recording = Recording(step, args, {})
    recording.call()
    recording.analyse()
    return recording.program


@contextlib.contextmanager
def everything_pays() -> Iterator[None]:
    """Joined kernels are taken wherever they fit, and every convolution's images are turned."""
    table = joins._of("cuda")
    before, last = dict(table), cuda.channels_last_pays
    table.update({name: found._replace(pays=joins.always) for name, found in before.items()})
    cuda.channels_last_pays = joins.always  # type: ignore[assignment]
    try:
        yield
    finally:
        table.update(before)
        cuda.channels_last_pays = last  # type: ignore[assignment]


def lines(program: Any) -> Iterator[str]:
    """One line an instruction; slots and storages are numbered as they come."""
    numbers: dict[Any, int] = {}

    def number(*key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    def text(i: Any) -> str:
        if i.__class__ is not Slot:
            return repr(i)[:200]
        storage = number("storage", i.storage.number)
        how = f"{i.dtype.name}{list(i.shape)}{list(i.strides)}+{i.offset}"
        return f"{i.storage.kind[0]}{number('slot', i.number)}({storage}):{how}"

    for ins in program.instructions:
        attrs = ", ".join(f"{k}={v!r}"[:200] for k, v in sorted(ins.attrs.items()))
        parts = [", ".join(map(text, group)) for group in (ins.outputs, ins.inputs, ins.writes)]
        line = f"  {parts[0]} = {ins.name}({parts[1]}; {attrs}) {parts[2]} {ins.several}"
        yield re.sub(" at 0x[0-9a-f]*", "", line)  # where an object lies is of no interest
    yield "  results " + ", ".join(map(text, program.results))


def dump() -> Iterator[str]:
    for source in (of_networks, of_chance, of_zoo, of_park):
        for name, step, args in source():
            print(name, file=sys.stderr, flush=True)
            torch.manual_seed(3)
            try:
                program = recorded(step, args)
            except Exception as error:
                yield f"== {name}: {type(error).__name__}"
                continue
            for device, pays in (("cpu", False), ("cuda", False), ("cuda", True)):
                program.device = device
                with everything_pays() if pays else contextlib.nullcontext():
                    made = optimise(program)
                yield f"== {name}, {device}{', everything pays' * pays}: {len(made)} instructions"
                yield from lines(made)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    now = list(dump())
    if args.save:
        args.save.write_text("\n".join(now) + "\n")
    if args.compare:
        before = args.compare.read_text().splitlines()
        found = list(difflib.unified_diff(before, now, "before", "now", lineterm="", n=2))
        print(*found, sep="\n")
        print(f"{len(now)} lines, {'equal' if not found else 'other ones'}")
        return bool(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
