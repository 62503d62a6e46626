"""Training steps on the CPU, eager: rushlight, PyTorch and rushlight without its native engine.

    python benchmarks/cpu.py                  the five columns and peak memory
    python benchmarks/cpu.py --growth         also time per image by batch and width, with a plot
    python benchmarks/cpu.py --draw RECORD    that plot again, from a record with --growth
    python benchmarks/cpu.py --columns lab64  only some
    python benchmarks/cpu.py --cpu-time       CPU time on one thread, for a machine that is busy with others

Every framework runs in a process of its own, which waits while the others work; rounds are interleaved
and the figure is the median over rounds, so that a busy moment of the machine hits all alike. A step is
forward, cross entropy, backward and SGD with momentum, float32, on as many threads as the process may
use.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))
import compact  # noqa: E402
import ledger  # noqa: E402

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

ROOT = Path(__file__).resolve().parents[1]

# name -> (module, environment, channels_last)
FRAMEWORKS: dict[str, tuple[str, dict[str, str], bool]] = {
    "rushlight": ("rushlight", {}, False),
    "PyTorch": ("torch", {}, False),
    "PyTorch channels_last": ("torch", {}, True),
    "NumPy im2col": ("rushlight", {"RUSHLIGHT_CPU_ENGINE": "numpy"}, False),
    "rushlight native": ("rushlight", {"RUSHLIGHT_CPU_ENGINE": "native"}, False),
    "rushlight oneDNN": ("rushlight", {"RUSHLIGHT_CPU_ENGINE": "onednn"}, False),
    "rushlight compiled": ("rushlight", {}, False),
}
USUAL = ["rushlight", "PyTorch", "PyTorch channels_last", "NumPy im2col"]
COLUMNS = {
    "lab4": "lab net, batch 4",
    "lab64": "batch 64",
    "lab512": "batch 512",
    "mlp100": "MLP 784-1000-10, batch 100",
    "wide64": "wide CNN, batch 64",
}
BATCHES = [1, 4, 16, 64, 256, 1024, 4096]
WIDTHS = [1, 2, 4, 8]


# -- the networks, in whichever framework ---------------------------------------------------------


def lab(nn: Any, width: int = 1) -> Any:
    """The lab's network: two convolutions with pooling, three linear layers."""
    a, b = 6 * width, 16 * width
    return nn.Sequential(
        nn.Conv2d(3, a, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(a, b, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(b * 25, 120 * width), nn.ReLU(),
        nn.Linear(120 * width, 84 * width), nn.ReLU(), nn.Linear(84 * width, 10),
    )  # fmt: skip


def mlp(nn: Any, width: int = 1) -> Any:
    return nn.Sequential(nn.Linear(784, 1000), nn.ReLU(), nn.Linear(1000, 10))


def wide(nn: Any, width: int = 1) -> Any:
    """A CNN with many channels on 3x32x32."""
    layers: list[Any] = []
    for i, o, pool in ((3, 64, False), (64, 64, True), (64, 128, False), (128, 128, True)):
        layers += [nn.Conv2d(i, o, 3, padding=1), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if pool else []
    layers += [nn.Flatten(), nn.Linear(8192, 256), nn.ReLU(), nn.Linear(256, 10)]
    return nn.Sequential(*layers)


def make_step(torch: Any, case: str, last: bool) -> Any:
    """A training step of a case like "lab64" or "lab64x2" (width 2)."""
    import numpy as np

    case, _, width = case.partition("x")
    kind = case.rstrip("0123456789")
    batch = int(case[len(kind) :])
    rng = np.random.RandomState(0)
    shape = (batch, 784) if kind == "mlp" else (batch, 3, 32, 32)
    x = torch.from_numpy(rng.rand(*shape).astype(np.float32))
    y = torch.from_numpy(rng.randint(0, 10, batch))
    torch.manual_seed(0)
    net = {"lab": lab, "mlp": mlp, "wide": wide}[kind](torch.nn, int(width or 1))
    if last and kind != "mlp":
        net = net.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


# -- a framework's process ------------------------------------------------------------------------


def work(name: str) -> None:
    """Answer requests {"case", "seconds"} or {"memory"} on standard input, one line each.

    With "cpu" in the request the answer is CPU time, on one thread.
    """
    module, _, last = FRAMEWORKS[name]
    torch = __import__(module)
    __import__(f"{module}.nn")
    __import__(f"{module}.optim")
    steps: dict[str, Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        case = request["case"]
        if "memory" in request:
            answer: Any = _memory(torch, case, last)
        else:
            if case not in steps:
                if request["cpu"]:
                    torch.set_num_threads(1)
                step = make_step(torch, case, last)
                steps = {case: torch.compile(step) if name.endswith("compiled") else step}
                for _ in range(5):
                    steps[case]()
            clock = time.process_time if request["cpu"] else time.perf_counter
            answer = _timed(steps[case], request["seconds"], clock)
        print(json.dumps(answer), flush=True)


def _timed(step: Any, seconds: float, clock: Any) -> float:
    """Median seconds of a step, from as many as fit."""
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begin = clock()
        step()
        times.append(clock() - begin)
    return statistics.median(times)


def _memory(torch: Any, case: str, last: bool) -> list[float]:
    """Resident megabytes before the network exists, and at the peak of training it."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    step = make_step(torch, case, last)
    for _ in range(4):
        step()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return [before / 1024, after / 1024]


class Worker:
    """A framework in its own process."""

    def __init__(self, name: str) -> None:
        self.name = name
        _, extra, _ = FRAMEWORKS[name]
        env = {**os.environ, **extra}
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), env.get("PYTHONPATH", "")])
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker", name], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, **request: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


# -- measuring ------------------------------------------------------------------------------------


def measure(workers: list[Worker], case: str, args: argparse.Namespace) -> dict[str, float]:
    """Microseconds of a step for every framework."""
    cpu = args.cpu_time
    times: dict[str, list[float]] = {w.name: [] for w in workers}
    for w in workers:
        w.ask(case=case, seconds=0.0, cpu=cpu)  # build and warm up, outside the rounds
    for _ in range(args.rounds):
        for w in workers:
            times[w.name].append(w.ask(case=case, seconds=args.seconds, cpu=cpu))
    return {name: statistics.median(t) * 1e6 for name, t in times.items()}


def peak_memory(names: list[str], case: str) -> dict[str, list[float]]:
    found = {}
    for name in names:
        w = Worker(name)
        found[name] = w.ask(case=case, memory=True)
        w.close()
    return found


def growth(names: list[str], args: Any) -> dict[str, Any]:
    """Microseconds per image by batch size (width 1) and by width (batch 64)."""
    workers = [Worker(n) for n in names]
    table: dict[str, Any] = {"batch": {}, "width": {}}
    try:
        for batch in BATCHES:
            row = measure(workers, f"lab{batch}", args)
            table["batch"][batch] = {n: t / batch for n, t in row.items()}
        for width in WIDTHS:
            row = measure(workers, f"lab64x{width}", args)
            table["width"][width] = {n: t / 64 for n, t in row.items()}
    finally:
        for w in workers:
            w.close()
    return table


# -- showing --------------------------------------------------------------------------------------


def show_columns(results: dict[str, dict[str, float]], base: str = "PyTorch") -> None:
    print(f"\n{'microseconds per step':<24}" + "".join(f"{c:>20}" for c in results))
    names = next(iter(results.values()))
    for name in names:
        cells = []
        for row in results.values():
            ratio = f" ({row[base] / row[name]:.2f}x)" if base in row else ""
            cells.append(f"{row[name]:,.0f}{ratio}")
        print(f"{name:<24}" + "".join(f"{c:>20}" for c in cells))


def show_growth(table: dict[str, Any]) -> None:
    for kind, rows in table.items():
        names = list(next(iter(rows.values())))
        print(f"\n{f'us per image by {kind}':<24}" + "".join(f"{n:>24}" for n in names))
        for value, row in rows.items():
            print(f"{value:<24}" + "".join(f"{row[n]:>24.1f}" for n in names))


def show_memory(found: dict[str, dict[str, list[float]]]) -> None:
    print(f"\n{'peak memory, MB':<24}" + "".join(f"{c:>24}" for c in found))
    for name in next(iter(found.values())):
        cells = [f"{row[name][1]:.0f} ({row[name][1] - row[name][0]:+.0f})" for row in found.values()]
        print(f"{name:<24}" + "".join(f"{c:>24}" for c in cells))
    print("(in brackets: beyond what the framework takes before it has a network)")


def draw_growth(result: dict[str, Any]) -> None:
    """The growth of a record as docs/growth-cpu.svg."""
    from rushlight.cli.report import svg

    title = "CPU microseconds an image, one thread" if result["cpu time"] else "microseconds an image"
    charts = []
    for kind, rows in result["growth"].items():
        lines = [
            svg.Line(name, colour, [(int(at), row[name]) for at, row in rows.items()])
            for name, colour in zip(next(iter(rows.values())), ("one", "two", "three"))
        ]
        across = "batch size (lab net)" if kind == "batch" else "width (batch 64)"
        charts.append((title, svg.line_chart(title, lines, across, "{:,.0f}".format, log_x=True, log_y=True)))
    print("drawn to", svg.write(str(ROOT / "docs" / "growth-cpu.svg"), svg.sheet(*charts)))


def machine() -> dict[str, Any]:
    return {
        "machine": platform.machine(), "cpus": os.cpu_count(),
        "date": time.strftime("%Y-%m-%d", time.gmtime()), "python": platform.python_version(),
        "load before": round(os.getloadavg()[0], 2),
    }  # fmt: skip


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--columns", nargs="*", default=list(COLUMNS), choices=list(COLUMNS))
    parser.add_argument("--frameworks", nargs="*", default=USUAL, choices=list(FRAMEWORKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one framework in one round")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--cpu-time", action="store_true", help="of one thread, not the clock's")
    parser.add_argument("--no-memory", action="store_true")
    ledger.option(parser)
    parser.add_argument("--out", type=Path, help="the record; benchmarks/results/cpu.json unless told")
    parser.add_argument("--draw", type=Path, metavar="RECORD", help="only draw the growth of a record again")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.worker:
        work(args.worker)
        return
    if args.draw:
        draw_growth(json.loads(args.draw.read_text()))
        return
    result: dict[str, Any] = {"machine": machine(), "columns": {}}
    print(result["machine"])
    for case in args.columns:
        workers = [Worker(n) for n in args.frameworks]
        try:
            result["columns"][case] = measure(workers, case, args)
        finally:
            for w in workers:
                w.close()
    if result["columns"]:
        show_columns(result["columns"])
        ledger.record(args.ledger, "steps", "cpu", ledger.of_columns(result["columns"]))
    if not args.no_memory:
        result["memory"] = {c: peak_memory(args.frameworks, c) for c in ("lab512", "wide64")}
        show_memory(result["memory"])
    if args.growth:
        both = [n for n in ("rushlight", "PyTorch") if n in args.frameworks]
        result["growth"] = growth(both, args)
        result["cpu time"] = args.cpu_time
        show_growth(result["growth"])
        draw_growth(result)
    result["machine"]["load after"] = round(os.getloadavg()[0], 2)
    if args.out is None:
        args.out = ROOT / "benchmarks" / "results" / "cpu.json"
    args.out.parent.mkdir(parents=True, exist_ok=True)
    compact.write(args.out, result)


if __name__ == "__main__":
    main()
