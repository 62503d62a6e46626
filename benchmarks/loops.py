"""Plain loops: eager, traced and compiled in one run, and what tracing costs where nothing repeats.

    python benchmarks/loops.py                                    the lab's loop and a loop that never repeats, on the CPU;
                                                                  the latter also in a script that has not asked for tracing
    python benchmarks/loops.py --device cuda --rows gpt2,unet     and rows of the park, as plain loops
    python benchmarks/loops.py --data DIR                         and the scripts of --scripts as a whole: DIR is their folder ./data
    python benchmarks/loops.py --own-time                         one thread, and its own time: for a machine that others use, too
    python benchmarks/loops.py --out table.json                   everything, for a file of results

Sides take turns in one process; a figure is the median of their rounds. A loop reads its loss every iteration, as the
lab's script does. `memory` is the peak in MB: of the allocator on a GPU, of a process of its own on the CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))
from rushlight.cli.scripts.alias import install  # noqa: E402

install()

import cpu  # noqa: E402
import ledger  # noqa: E402
import park_rows  # noqa: E402
import torch  # noqa: E402
from torch import nn, optim  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import rushlight  # noqa: E402
from rushlight.core import hot  # noqa: E402
from rushlight.runtime.thread import here  # noqa: E402

rushlight.tracing(False)

SCRIPTS = ("cifar10_gpu.py", "dezero_step52.py")
Loop = Callable[[int], float]  # so many iterations; something that depends on their losses


def lab(device: str, batch: int, loader: bool) -> dict[str, Loop]:
    """The lab's training loop; with its loader, or over batches that lie on the device."""
    torch.manual_seed(0)
    model, criterion = cpu.lab(nn).to(device), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    data = TensorDataset(torch.randn(4000, 3, 32, 32), torch.randint(0, 10, (4000,)))
    ready = [(x.to(device), y.to(device)) for x, y in DataLoader(data, batch)][:64]

    def step(inputs: Any, labels: Any) -> Any:
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss

    def loop(n: int, call: Callable[..., Any]) -> float:
        total, done = 0.0, 0
        while True:
            for x, y in DataLoader(data, batch, shuffle=True) if loader else ready:
                total += call(x.to(device), y.to(device)).item()
                done += 1
                if done == n:
                    return total

    compiled = torch.compile(step)
    return {"plain": lambda n: loop(n, step), "compiled": lambda n: loop(n, compiled)}


def never(device: str) -> dict[str, Loop]:
    """A loop in which no iteration is like another: shapes and numbers change."""
    model = nn.Linear(32, 32).to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.01)
    grown = torch.randn(4096, 32, device=device)

    def loop(n: int) -> float:
        total = 0.0
        for i in range(n):
            k = 8 + i % 4000  # both sides see the same sizes
            loss = (model(grown[:k]) * (1 + 1 / k)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total

    return {"plain": loop}


def park(row: str, device: str) -> dict[str, Loop]:
    """A row of the park as a plain loop."""
    import numpy as np

    torch.manual_seed(0)
    place = park_rows.Place(device, device == "cuda", park_rows.plain, np.random.default_rng(0))
    work = park_rows.ROWS[row](place)
    compiled = torch.compile(work.step)

    def loop(n: int, call: Callable[..., Any]) -> float:
        return sum(float(call(*work.args).mean()) for _ in range(n))

    return {"plain": lambda n: loop(n, work.step), "compiled": lambda n: loop(n, compiled)}


def measure(loops: dict[str, Loop], device: str, seconds: float) -> dict[str, Any]:
    """Microseconds an iteration and peak memory of each side, which take turns."""
    sides = {"eager": (loops["plain"], False), "traced": (loops["plain"], True)}
    if "compiled" in loops:
        sides["compiled"] = (loops["compiled"], False)
    found: dict[str, Any] = {}
    times: dict[str, list[float]] = {name: [] for name in sides}
    peaks: dict[str, float] = {}
    for name, (loop, traced) in sides.items():  # programs are made
        _round(loop, 12, traced, device, times=[])
        peaks[name] = _peak(device)
    once = _round(loops["plain"], 3, False, device, times=[])
    n = max(12, int(0.3 / max(once, 1e-6)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["eager"]) < 3:
        for name, (loop, traced) in sides.items():
            _round(loop, n, traced, device, times[name])
            peaks[name] = max(peaks[name], _peak(device))
    for name, rounds in times.items():
        found[name] = {"us": statistics.median(rounds) * 1e6, "memory": peaks[name]}
    return found


def by_itself(loop: Loop, seconds: float) -> dict[str, Any]:
    """A loop without replays in a script that has not asked for tracing, once the watching has settled; and without any.

    `us` is the shortest round of each side; `ratios` are those of rounds beside each other.
    """
    clock = time.thread_time
    rushlight.tracing(False)
    hot.trace_by_itself()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 2.5:  # longer than what is waited for, and a glance
        loop(100)
    watch, times = here.tracer, {"eager": [], "traced": []}  # type: tuple[Any, dict[str, list[float]]]
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times["eager"]) < 5:
        for name, tracer in (("eager", None), ("traced", watch)):
            here.tracer = tracer
            start = clock()
            loop(300)
            times[name].append((clock() - start) / 300)
    watch = here.tracer
    rushlight.tracing(False)
    ratios = [a / b for a, b in zip(times["eager"], times["traced"])]
    found: dict[str, Any] = {k: {"us": min(v) * 1e6, "memory": 0.0} for k, v in times.items()}
    return {**found, "by": type(watch).__name__, "ratios": statistics.median(ratios)}


def _round(loop: Loop, n: int, traced: bool, device: str, times: list[float]) -> float:
    """Seconds an iteration, after some that are not timed."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    rushlight.tracing(traced)
    loop(60)
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    begin = clock()
    loop(n)
    if device == "cuda":
        torch.cuda.synchronize()
    took = (clock() - begin) / n
    rushlight.tracing(False)
    times.append(took)
    return took


def _peak(device: str) -> float:
    return torch.cuda.max_memory_allocated() / 2**20 if device == "cuda" else 0.0


def _own_peak(name: str, side: str) -> float:
    """MB of a process in which one side of a row runs."""
    command = [sys.executable, __file__, "--peak", name, "--side", side]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def whole(script: Path, data: Path) -> dict[str, Any]:
    """Seconds of a script with tracing and without, each in a process of its own."""
    found = {}
    for option in ("--no-trace", "--trace"):
        command = [sys.executable, "-m", "rushlight", "run", option, str(script)]
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=data.parent, capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")})  # fmt: skip
        found[option] = {"s": time.perf_counter() - begin, "printed": done.stdout[-400:]}
        if done.returncode:
            found[option]["error"] = done.stderr[-400:]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--rows", default="", help="of the park, with commas between them")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each row")
    parser.add_argument("--data", type=Path, help="a folder named data with the scripts' data sets")
    parser.add_argument("--scripts", type=Path, help="the folder of the scripts")
    parser.add_argument("--own-time", action="store_true", help="one thread, timed by its own time")
    parser.add_argument("--peak", help="print the memory of one row, in a process of its own")
    parser.add_argument("--side", default="eager", choices=("eager", "traced"))
    parser.add_argument("--out", type=Path)
    ledger.option(parser)
    a = parser.parse_args()
    if a.own_time:
        torch.set_num_threads(1)
    table: dict[str, Any] = {"machine": platform.machine(), "device": a.device}
    makers: dict[str, Callable[[], dict[str, Loop]]] = {
        "lab4": lambda: lab(a.device, 4, False),
        "lab4 with its loader": lambda: lab(a.device, 4, True),
        "lab64": lambda: lab(a.device, 64, False),
        "never the same": lambda: never(a.device),
    }
    if a.peak is not None:
        rushlight.tracing(a.side == "traced")
        makers[a.peak]()["plain"](100)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    makers |= {row: lambda row=row: park(row, a.device) for row in a.rows.split(",") if row}
    for name, make in makers.items():
        found = table[name] = measure(make(), a.device, a.seconds)
        if a.device == "cpu" and not a.rows:
            for side in ("eager", "traced"):
                found[side]["memory"] = _own_peak(name, side)
        eager, traced = found["eager"]["us"], found["traced"]["us"]
        text = f"{name:24} eager {eager:9.1f} us   traced {traced:9.1f} us   {eager / traced:5.2f}x"
        if "compiled" in found:
            text += f"   of compiled {found['compiled']['us'] / traced:5.2f}x"
        if found["eager"]["memory"]:
            text += f"   memory {found['traced']['memory'] / found['eager']['memory']:5.2f}x"
        print(text, flush=True)
    if a.device == "cpu" and not a.rows:
        found = by_itself(makers["never the same"]()["plain"], a.seconds)
        table["never the same, by itself"] = found
        eager, traced = found["eager"]["us"], found["traced"]["us"]
        print(
            f"{'never, by itself':24} eager {eager:9.1f} us  watched {traced:9.1f} us   {eager / traced:5.3f}x   "
            f"median of ratios {found['ratios']:5.3f}x   by {found['by']}",
            flush=True,
        )
    if a.data is not None and a.scripts is not None:
        for name in SCRIPTS:
            found = table[name] = whole(a.scripts / name, a.data)
            print(name, {k: round(v["s"], 2) for k, v in found.items()}, flush=True)
    names = {"eager": "", "traced": " traced", "compiled": " compiled"}
    ledger.record(a.ledger, "loops", a.device, ledger.of_rows(table, "us", "", names))
    if a.out is not None:
        a.out.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
