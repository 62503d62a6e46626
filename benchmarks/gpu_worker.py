"""One library's half of benchmarks/gpu.py: reads workload names, answers figures as JSON lines."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

if sys.argv[1] == "torch":
    import torch
    import torchvision.transforms as transforms
    from torch import nn
    from torch.nn import functional as F
    from torch.utils import data
else:
    import rushlight as torch
    from rushlight import nn
    from rushlight.nn import functional as F
    from rushlight.utils import data
    from rushlight.vision import transforms


class Lab(nn.Module):
    """The lab's network."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(F.relu(self.fc2(x)))


class Block(nn.Module):
    """The basic block of ResNet-18."""

    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(into, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.short = nn.Sequential()
        if stride != 1 or into != out:
            self.short = nn.Sequential(
                nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.short(x))


class ResNet18(nn.Module):
    """ResNet-18 with the stem for 32 x 32 images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64)
        blocks = []
        into = 64
        for out, stride in (
            (64, 1),
            (64, 1),
            (128, 2),
            (128, 1),
            (256, 2),
            (256, 1),
            (512, 2),
            (512, 1),
        ):
            blocks.append(Block(into, out, stride))
            into = out
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Any) -> Any:
        x = self.blocks(F.relu(self.bn(self.conv(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


def seconds(call: Callable[[], Any], least: float = 0.25, warm: int = 3) -> float:
    """Seconds per call, the GPU's work waited for, over at least `least` seconds."""
    for _ in range(warm):
        call()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    once = time.perf_counter() - begin
    count = max(3, int(least / max(once, 1e-6)))
    begin = time.perf_counter()
    for _ in range(count):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count


def lab_step(batch: int) -> float:
    net = Lab().to("cuda")
    optimiser = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    x, t = torch.randn(batch, 3, 32, 32).to("cuda"), torch.randint(0, 10, (batch,)).to("cuda")

    def step() -> None:
        optimiser.zero_grad()
        loss_of(net(x), t).backward()
        optimiser.step()

    return seconds(step, warm=20) * 1e6


class Pictures(data.Dataset):
    """Random pictures handed out as torchvision's CIFAR-10 does: a PIL image through the transforms."""

    def __init__(self, count: int) -> None:
        import numpy as np

        rng = np.random.default_rng(0)
        self.data = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        self.targets = rng.integers(0, 10, count).tolist()
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]
        )

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, i: int) -> Any:
        from PIL import Image

        return self.transform(Image.fromarray(self.data[i])), self.targets[i]


def lab_script() -> float:
    """The lab's loop as it stands: batch 4, two workers, `.item()` every step."""
    loader = data.DataLoader(Pictures(6000), batch_size=4, shuffle=True, num_workers=2)
    net = Lab().to("cuda")
    loss_of = nn.CrossEntropyLoss()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    total, begin, steps = 0.0, 0.0, 0
    for i, (inputs, labels) in enumerate(loader):
        if i == 200:
            torch.cuda.synchronize()
            begin, steps = time.perf_counter(), 0
        inputs, labels = inputs.to("cuda"), labels.to("cuda")
        optimiser.zero_grad()
        loss = loss_of(net(inputs), labels)
        loss.backward()
        optimiser.step()
        total += loss.item()
        steps += 1
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / steps * 1e6


def resnet(bf16: bool) -> float:
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    batch = 512
    net = ResNet18().to("cuda")
    x, t = torch.randn(batch, 3, 32, 32).to("cuda"), torch.randint(0, 10, (batch,)).to("cuda")
    if bf16:
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

    def step() -> None:
        optimiser.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            loss = F.cross_entropy(net(x), t)
        loss.backward()
        optimiser.step()

    return batch / seconds(step, 0.5, warm=5)


def product(kind: str) -> float:
    n = 4096
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    dtype = torch.bfloat16 if kind == "bf16" else torch.float32
    a, b = [torch.randn(n, n).to("cuda").to(dtype) for _ in range(2)]
    value = 2 * n**3 / seconds(lambda: a @ b) / 1e12
    torch.backends.cuda.matmul.allow_tf32 = before
    return value


def copy() -> float:
    x = torch.ones(1 << 28, device="cuda")
    y = torch.empty_like(x)
    return 2 * 4 * x.numel() / seconds(lambda: y.copy_(x)) / 1e9


def chain() -> float:
    """x * 2 + 1 through relu: three ops, each reading and writing once."""
    x = torch.randn(1 << 26).to("cuda")
    return 3 * 2 * 4 * x.numel() / seconds(lambda: F.relu(x * 2.0 + 1.0)) / 1e9


RUN: dict[str, Callable[[], float]] = {
    **{f"lab step, batch {b}": (lambda b=b: lab_step(b)) for b in (4, 64, 512, 4096)},
    "lab script, per iteration": lab_script,
    "resnet18 bf16 channels_last, batch 512": lambda: resnet(True),
    "resnet18 fp32/tf32, batch 512": lambda: resnet(False),
    **{f"product 4096 {k}": (lambda k=k: product(k)) for k in ("fp32", "tf32", "bf16")},
    "copy": copy,
    "pointwise chain": chain,
}


def main() -> None:
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"value": RUN[line.strip()]()}
        except Exception:  # noqa: BLE001 - told to the parent, which goes on with the others
            answer = {"error": " | ".join(traceback.format_exc().strip().splitlines()[-3:])}
        torch.cuda.empty_cache()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
