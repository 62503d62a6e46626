"""Numbers that stay: the same bits for any number of threads and from run to run; no growth, no drift."""

from __future__ import annotations

import gc
import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from trust_record import Record

import rushlight as rl
from rushlight import nn


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(self.embed(x)).mean(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.LSTM(16, 32, 2, batch_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x)[0][:, -1])


def _lab() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 5), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3),
        nn.GELU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10),
    )  # fmt: skip


def _solid() -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(1, 6, 3, padding=1), nn.GroupNorm(2, 6), nn.SiLU(), nn.MaxPool3d(2),
        nn.ConvTranspose3d(6, 4, 2, stride=2), nn.Flatten(), nn.Linear(4 * 512, 10),
    )  # fmt: skip


NETS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Any]]] = {
    "lab": (_lab, lambda: rl.randn(32, 3, 32, 32)),
    "mlp": (
        lambda: nn.Sequential(nn.Linear(200, 300), nn.ReLU(), nn.Dropout(0.2), nn.LayerNorm(300), nn.Linear(300, 10)),
        lambda: rl.randn(257, 200),
    ),
    "transformer": (Transformer, lambda: rl.randint(0, 50, (16, 24))),
    "lstm": (Recurrent, lambda: rl.randn(16, 20, 16)),
    "conv3d": (_solid, lambda: rl.randn(4, 1, 8, 8, 8)),
}


def trained(name: str, steps: int = 4, compiled: bool = False, device: str = "cpu") -> str:
    """The sum of all weights' bits after a few steps of training."""
    rl.manual_seed(0)
    make, batch = NETS[name]
    net, x = make().to(device), batch().to(device)
    y = rl.randint(0, 10, (len(x),)).to(device)
    optimizer = rl.optim.AdamW(net.parameters(), 1e-2)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = rl.compile(step) if compiled else step
    digest = hashlib.sha256()
    for _ in range(steps):
        digest.update(run(x, y).cpu().numpy().tobytes())
    for p in net.parameters():
        digest.update(p.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def _all_sums(threads: int, strict: bool) -> dict[str, str]:
    """In a new process: the sums of every network, eager and compiled."""
    code = (
        "import sys, json\n"
        f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
        "import rushlight as rl, trust_numbers as t\n"
        f"rl.set_num_threads({threads}); rl.use_deterministic_algorithms({strict})\n"
        "print(json.dumps({f'{n} {c}': t.trained(n, 4, c) for n in t.NETS for c in (False, True)}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=True)
    import json

    return json.loads(done.stdout)


def determinism(count: int, seed: int, record: Record) -> tuple[str, bool]:
    """1, 2 and 4 threads in deterministic mode; twice the same run without it."""
    strict = {n: _all_sums(n, True) for n in (1, 2, 4)}
    wrong = [f"{name} with {n} threads" for n in (2, 4) for name in strict[1] if strict[n][name] != strict[1][name]]
    free = [_all_sums(2, False) for _ in range(2)]
    wrong += [f"{name} run to run" for name in free[0] if free[0][name] != free[1][name]]
    said = f"{len(strict[1])} trainings ({', '.join(NETS)}; eager and compiled) at 1, 2 and 4 threads, and twice without the mode"
    return said + (f"; they differ: {', '.join(wrong)}" if wrong else ""), not wrong


def _resident() -> int:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def soak(seconds: int, seed: int, record: Record, device: str = "cpu") -> tuple[str, bool]:
    """Train every network again and again, eager, traced, compiled and behind workers, for so many seconds."""
    until = time.monotonic() + seconds
    _round(device, {})  # where there is a choice, what is quicker is measured here
    first: dict[str, str] = {}
    sizes: list[list[int]] = []
    drift: list[str] = []
    while len(sizes) < 6 or time.monotonic() < until:
        drift += [f"{what} in round {len(sizes)}" for what in _round(device, first)]
        gc.collect()
        sizes.append([_resident(), *_on_gpu(device)])
    half = len(sizes) // 2
    grown = [
        max(0, max(last) - max(begin)) >> 10
        for begin, last in zip(zip(*sizes[: half + 1]), zip(*sizes[half:]), strict=True)
    ]
    right = not drift and max(grown) < 8192
    record.add("rounds", rounds=len(sizes), pieces_that_grew_or_drifted=not right)
    found = record.counts
    where = zip(grown, ("", "of the GPU in use", "of the GPU reserved", "of the GPU by the driver"))  # noqa: B905
    said = (
        f"{found['rounds']:,} rounds in {record.line['seconds'] / 60:,.0f} minutes, memory grew in the second half by "
    )
    said += ", ".join(f"{n} kB {what}".strip() for n, what in where)
    return said + (f"; drift, {len(drift)} times: {drift[:5]}" if drift else ""), right


def _on_gpu(device: str) -> list[int]:
    """Bytes of the GPU that are in use, that rushlight keeps, and that are gone as the driver counts them."""
    if device == "cpu":
        return []
    free, total = rl.cuda.mem_get_info()
    return [rl.cuda.memory_allocated(), rl.cuda.memory_reserved(), total - free]


def _round(device: str, first: dict[str, str]) -> list[str]:
    """Every network eager, traced and compiled, and a loader with workers; what is not as it was at `first`."""
    other = []
    for name in NETS:
        for way in ("eager", "traced", "compiled"):
            rl.tracing(way == "traced")
            found = trained(name, 6, way == "compiled", device)
            rl.tracing(False)
            if first.setdefault(f"{name} {way}", found) != found:
                other.append(f"{name} {way}")
    data = rl.utils.data.TensorDataset(rl.arange(64.0).reshape(16, 4))
    loader = rl.utils.data.DataLoader(data, 4, num_workers=2, collate_fn=_stacked, pin_memory=device != "cpu")
    if float(sum(batch.to(device).sum() for batch in loader)) != 2016.0:
        other.append("workers")
    return other


def _stacked(rows: Any) -> Any:
    return rl.stack([r[0] for r in rows])
