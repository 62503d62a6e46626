"""Microseconds of a training step: eager, compiled, and PyTorch's in the same run.

    python benchmarks/compiled.py                     the lab's network and the MLP on the CPU
    python benchmarks/compiled.py --device cuda       on the GPU, against PyTorch's CUDA graph
    python benchmarks/compiled.py --rows lab4,mlp     some rows only
    python benchmarks/compiled.py --program           also the table of each program
    python benchmarks/compiled.py --recording lab64   seconds until the first replay, cache cold and warm
    python benchmarks/compiled.py --out table.json    everything, for a file of results

Each side runs in a process of its own (two OpenMP libraries in one process slow each other down);
sides take turns, and the figure is the median of their rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import ledger
from cpu import lab, mlp, wide

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

ROWS = {
    "lab4": ("lab", 4),
    "lab64": ("lab", 64),
    "lab512": ("lab", 512),
    "lab4096": ("lab", 4096),
    "mlp": ("mlp", 100),
    "wide": ("wide", 64),
    "resnet": ("resnet", 512),  # bfloat16 by autocast, channels_last
}
GOALS = {
    "cpu": {"lab4": 4.0, "lab64": 3.0, "lab512": 1.8, "mlp": 1.7, "wide": 1.5},
    "cuda": {"lab4": 40, "lab64": 60, "lab512": 150, "lab4096": 700, "mlp": 35, "resnet": 512 / 75_000 * 1e6},
}
DEFAULT = {"cpu": "lab4,lab64,lab512,mlp", "cuda": "lab4,lab64,lab512,lab4096,mlp,resnet"}


def resnet(nn: Any) -> Any:
    """ResNet-18 with the 3x3 stem for pictures of 32x32; PyTorch's by way of torchvision."""
    if nn.__name__.startswith("rushlight"):
        from rushlight.vision.models import resnet18_cifar

        return resnet18_cifar()
    from torchvision.models import resnet18

    net = resnet18(num_classes=10)
    net.conv1 = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    net.maxpool = nn.Identity()
    return net


NETS = {"resnet": (resnet, (3, 32, 32)), "lab": (lab, (3, 32, 32)), "mlp": (mlp, (784,)), "wide": (wide, (3, 32, 32))}


def step_of(lib: Any, row: str, device: str, batch: int | None = None) -> tuple[Callable, Any, Any]:
    """A training step over one batch that lies on the device."""
    name, n = ROWS[row]
    n = batch or n
    make, shape = NETS[name]
    lib.manual_seed(0)
    net = make(lib.nn).to(device)
    opt = lib.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    loss_of = lib.nn.CrossEntropyLoss()
    x, y = lib.randn(n, *shape).to(device), lib.randint(0, 10, (n,)).to(device)
    half = name == "resnet"
    if half:
        net = net.to(memory_format=lib.channels_last)
        x = x.contiguous(memory_format=lib.channels_last)

    def step(x: Any, y: Any) -> Any:
        opt.zero_grad()
        with lib.autocast(device, dtype=lib.bfloat16, enabled=half):
            loss = loss_of(net(x), y)
        loss.backward()
        opt.step()
        return loss

    return step, x, y


def torch_graph(torch: Any, step: Callable, x: Any, y: Any) -> Callable:
    """PyTorch's whole-step CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step(x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x, y)
    return lambda *_: graph.replay()


def measure(fn: Callable, x: Any, y: Any, wait: Callable, seconds: float) -> float:
    """The median of batches of calls, microseconds per call."""
    for _ in range(5):
        fn(x, y)
    wait()
    begin = time.perf_counter()
    fn(x, y)
    wait()
    count = max(1, int(0.05 / max(time.perf_counter() - begin, 1e-6)))
    rounds = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rounds) < 3:
        begin = time.perf_counter()
        for _ in range(count):
            fn(x, y)
        wait()
        rounds.append((time.perf_counter() - begin) / count * 1e6)
    return statistics.median(rounds)


# -- one side, in its own process -------------------------------------------------------------------


def worker(side: str, row: str, device: str, seconds: float, program: bool) -> dict[str, Any]:
    if side.startswith("torch"):
        import torch as lib
    else:
        import rushlight as lib  # type: ignore[no-redef]
    step, x, y = step_of(lib, row, device)
    found: dict[str, Any] = {}
    wait = lib.cuda.synchronize if device == "cuda" else lambda: None
    fn = step
    if side == "torch graph":
        fn = torch_graph(lib, step, x, y)
    elif side == "compiled":
        fn = lib.compile(step)
        found.update(preparation(fn, x, y, wait))
        if "why" not in found and seconds:
            found.update(against_floor(lib, fn, row, device, wait))
        if program:
            print(fn.program(), file=sys.stderr)
    if seconds:
        found["us"] = measure(fn, x, y, wait, seconds)
    return found


def against_floor(lib: Any, fn: Any, row: str, device: str, wait: Callable) -> dict[str, Any]:
    """What the machine can do, and the least time it needs for this step."""
    from floor import floor_us, flops, speeds

    replay = fn.replays[-1]
    bandwidth, rate = speeds(lib, device, row == "resnet", wait)
    return {
        "floor_us": floor_us(replay.program, replay.recorded, bandwidth, rate),
        "flops": flops(replay.recorded),
        "copy_GBps": round(bandwidth / 1e9, 1),
        "product_TFps": round(rate / 1e12, 3),
    }


def preparation(fn: Any, x: Any, y: Any, wait: Callable) -> dict[str, Any]:
    """Call until there is a program; how long the making took beyond the calls, and its figures."""
    begin = time.perf_counter()
    while not fn.replays and not fn.why():
        fn(x, y)
    wait()
    spent = time.perf_counter() - begin
    if fn.why():
        return {"why": fn.why()}
    program, low = fn.program(), fn.replays[-1].low
    return {
        "prepare_ms": round(spent * 1e3, 1),
        "make_ms": round(fn.replays[-1].seconds * 1e3, 1),
        "passes": program.history,
        "kernels": launched(low, program),
        "moved": program.bytes_moved(),
        "least": program.least_bytes(),
        "arena": getattr(low, "arena_bytes", None),
    }


def launched(low: Any, program: Any) -> int:
    """Kernels of one replay: on a GPU those in the graph and beside it, views apart."""
    code = program.instructions
    both = (getattr(low, "first", None), getattr(low, "second", None))
    graphs = [g for g in both if hasattr(g, "phases")]
    if len(graphs) == 2 and graphs[0] is graphs[1]:
        del graphs[1]
    if graphs:
        code = [i for g in graphs for i in (*g.phases.before, *g.phases.graph, *g.phases.after)]
    return sum(not ins.is_view for ins in code)


def run(side: str, row: str, args: argparse.Namespace, seconds: float, cache: str | None = None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", side, "--rows", row, "--device", args.device,
               "--seconds", str(seconds)]  # fmt: skip
    environment = {**os.environ, **({"RUSHLIGHT_CACHE": cache} if cache else {})}
    if args.program:
        command.append("--program")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.stderr and (args.program or done.returncode):
        print(done.stderr, file=sys.stderr)
    if done.returncode:
        return {"us": float("nan")}
    return json.loads(done.stdout.splitlines()[-1])


def report(row: str, found: dict[str, dict], device: str) -> None:
    us = {side: f["us"] for side, f in found.items()}
    peer = us.get("torch graph") or us.get("torch") or float("nan")
    goal = GOALS[device].get(row)
    line = "".join(f"{us.get(s, float('nan')):>13.1f}" for s in us)
    told = f"{peer / us['compiled']:>8.2f}x" if "compiled" in us else ""
    if goal is not None:
        told += f"   goal {goal:.4g}{'x' if device == 'cpu' else ' us'}"
    if row == "resnet" and "compiled" in us:
        told += f"   {ROWS[row][1] / us['compiled'] * 1e6:,.0f} images/s"
    print(f"{row:<10}{line}{told}", flush=True)


def report_program(row: str, f: dict[str, Any]) -> None:
    if "why" in f:
        print(f"{row:<10}eager: {f['why']}")
        return
    if "passes" not in f:
        return
    steps = list(zip([["", -1], *f["passes"]], f["passes"]))  # those that left it as it was apart
    passes = ", ".join(f"{name} {n}" for (_, before), (name, n) in steps if n != before)
    floor = f"{f['us']:.0f} us, {f['us'] / f['floor_us']:.1f} times the floor of {f['floor_us']:.1f}; "
    print(
        f"{row:<10}{floor}{passes}; {f['kernels']} kernels; moves {f['moved'] / 1e6:.2f} MB, least "
        f"{f['least'] / 1e6:.2f} MB; arena {(f['arena'] or 0) / 1e6:.2f} MB; "
        f"made in {f['make_ms']} ms, ready after {f['prepare_ms']} ms"
    )


def report_recording(args: argparse.Namespace) -> None:
    """Milliseconds from the first call to the first program: with an empty cache, and once more."""
    found = {}
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            f = found[name] = run("compiled", args.recording, args, 0.0, cache)
            print(
                f"{args.recording:<10}{name}: first program after {f.get('prepare_ms')} ms, of which "
                f"optimising and lowering {f.get('make_ms')} ms"
            )
    if args.out:
        with open(args.out, "w") as f:
            json.dump({"device": args.device, "recording": {args.recording: found}}, f)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rows", default=None)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--program", action="store_true")
    parser.add_argument("--json", action="store_true", help="print everything found as JSON")
    parser.add_argument("--out", help="write everything found as JSON")
    ledger.option(parser)
    parser.add_argument("--recording", metavar="ROW", help="only how long recording takes")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--sides", help="some of torch, torch graph, rushlight, compiled")
    parser.add_argument("--worker")
    args = parser.parse_args()
    if args.worker:
        found = worker(args.worker, args.rows, args.device, args.seconds, args.program)
        print(json.dumps(found))
        return
    if args.recording:
        report_recording(args)
        return
    rows = (args.rows or DEFAULT[args.device]).split(",")
    sides = ["rushlight", "compiled"]
    if not args.without_torch:
        sides = ["torch", *(["torch graph"] if args.device == "cuda" else []), *sides]
    if args.sides:
        sides = [s for s in sides if s in args.sides.split(",")]
    print(f"{'':<10}" + "".join(f"{s:>13}" for s in sides) + f"{'ratio':>9}   (microseconds a step)")
    table = {}
    for row in rows:
        table[row] = {side: run(side, row, args, args.seconds) for side in sides}
        report(row, table[row], args.device)
    for row in rows:
        report_program(row, table[row]["compiled"])
    names = {"rushlight": "", "compiled": " compiled"}
    ledger.record(args.ledger, "compiled", args.device, ledger.of_rows(table, "us", "torch", names))
    if args.json:
        print(json.dumps(table))
    if args.out:
        with open(args.out, "w") as f:
            json.dump({"device": args.device, "machine": platform.platform(), "rows": table}, f)


if __name__ == "__main__":
    main()
