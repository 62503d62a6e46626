"""The park: networks of many kinds, PyTorch's and ours in one run; time, memory, first calls and losses.

    python benchmarks/park.py                                   small versions on the CPU
    python benchmarks/park.py --device cuda                     on the GPU, also against torch.compile
    python benchmarks/park.py --rows gpt2,lstm --sides torch,ours
    python benchmarks/park.py --without-dropout                 so that losses agree for every row
    python benchmarks/park.py --cpu-time                        CPU time on one thread, on a busy machine
    python benchmarks/park.py --list

Every side runs in a process of its own and prepares the row (its first ten steps, from equal weights and data, give
the losses that are compared); then sides take turns, and the figure is the median over rounds. The ratios in brackets
compare the fastest rounds: a rented host's speed can swing by a factor of two within seconds. Writes
benchmarks/results/park-<device>-<date>.json and .png.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import select
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

HERE = Path(__file__).resolve().parent
SIDES = ["torch", "torch compile", "torch graphs", "ours", "ours compiled"]
USUAL = {"cpu": ["torch", "ours", "ours compiled"], "cuda": SIDES}
ROWS = (
    "gpt2 gpt6 gpt6-tf32 gpt4 resnet50 mobilenet vgg lstm encoder unet dcgan orthogonal "
    "generate-gpt2 generate-tiny latency-resnet50 latency-gpt2 vit mixer graph tagger written"
).split()
ROUNDS = 6


class Worker:
    """One side's process, started again when it died or took too long."""

    def __init__(self, side: str, device: str, clock: str) -> None:
        self.arguments = [side, device, clock]
        self.process: Any = None

    def ask(self, patience: float, **request: Any) -> dict[str, Any]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "park_worker.py"), *self.arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        self.process.stdin.write((json.dumps(request) + "\n").encode())
        self.process.stdin.flush()
        end, text = time.monotonic() + patience, b""
        while time.monotonic() < end:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.2)
            if not ready:
                continue
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            text += part
            lines = [line for line in text.split(b"\n")[:-1] if line.startswith(b"{")]
            if lines:
                return json.loads(lines[-1])
            if not part:
                self.process.wait()
                return {"error": f"the process ended with {self.process.returncode}"}
        self.process.kill()
        self.process.wait()
        return {"error": f"took more than {patience:.0f} s"}

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(timeout=60)


def measure(row: str, workers: dict[str, Worker], args: argparse.Namespace) -> dict[str, Any]:
    """Every side's figures for one row."""
    found: dict[str, dict[str, Any]] = {}
    for side, worker in workers.items():
        found[side] = worker.ask(args.patience, do="prepare", row=row, dropout=not args.without_dropout)
    alive = [s for s in workers if "error" not in found[s]]
    times: dict[str, list[float]] = {side: [] for side in alive}
    fastest = dict.fromkeys(alive, math.inf)
    for _ in range(ROUNDS):
        for side in list(alive):
            answer = workers[side].ask(args.patience, do="time", seconds=args.seconds / ROUNDS)
            if "error" in answer:
                alive.remove(side)
            else:
                times[side].append(answer.pop("ms"))
                fastest[side] = min(fastest[side], answer.pop("best_ms"))
            found[side].update(answer)
    for side, values in times.items():
        if values:
            found[side]["ms"] = statistics.median(values)
            found[side]["best_ms"] = fastest[side]
    for worker in workers.values():
        if worker.process is not None and worker.process.poll() is None:
            worker.ask(args.patience, do="drop")
    return found


# -- what was found ---------------------------------------------------------------------------------


def ms(found: dict, side: str, which: str = "ms") -> float:
    return found.get(side, {}).get(which, math.nan)


def speed(found: dict, which: str) -> tuple[float, float]:
    """PyTorch's time by ours: eager by eager, and the best of its compiled ones by ours compiled."""
    compiled = [ms(found, s, which) for s in ("torch compile", "torch graphs")]
    peer = min([t for t in compiled if t > 0], default=ms(found, "torch", which))
    return (ms(found, "torch", which) / ms(found, "ours", which), peer / ms(found, "ours compiled", which))


def ratios(found: dict) -> dict[str, float]:
    """Speed by the medians and by the fastest rounds, and memory."""
    (eager, compiled), (eager_best, compiled_best) = speed(found, "ms"), speed(found, "best_ms")
    peak = {s: f.get("peak_mb", math.nan) for s, f in found.items()}
    taken = {s: f.get("taken_mb", math.nan) for s, f in found.items()}
    return {
        "eager": eager,
        "compiled": compiled,
        "eager_best": eager_best,
        "compiled_best": compiled_best,
        "memory_eager": peak.get("ours", math.nan) / (peak.get("torch") or math.nan),
        "taken_compiled": taken.get("ours compiled", math.nan) / (taken.get("torch") or math.nan),
    }


def loss_distance(found: dict, side: str) -> float | None:
    """The largest relative distance of a side's losses from PyTorch's eager ones."""
    want, have = found.get("torch", {}).get("losses"), found.get(side, {}).get("losses")
    if not want or not have:
        return None
    return max(abs(a - b) / max(abs(a), 1e-3) for a, b in zip(want, have))


def report(row: str, found: dict, sides: list[str]) -> None:
    told = ratios(found)
    line = "".join(f"{ms(found, s):>15.3f}" for s in sides)
    speeds = f"{told['eager']:>8.2f} ({told['eager_best']:.2f}){told['compiled']:>9.2f} ({told['compiled_best']:.2f})"
    print(f"{row:<17}{line}{speeds}", flush=True)
    for side in sides:
        f = found[side]
        if "error" in f:
            print(f"    {side}: {f['error'][:400]}")
            continue
        text = f"    {side}: peak {f.get('peak_mb', math.nan):,.0f} MB"
        if "taken_mb" in f:
            text += f", taken from the GPU {f['taken_mb']:,.0f} MB"
        text += f"; first call {f['first_s']:.2f} s, ten calls {f['ready_s']:.2f} s"
        far = loss_distance(found, side)
        if far is not None and side != "torch":
            text += f"; losses differ by {far:.1e}"
        if f.get("why"):
            text += f"; not compiled: {f['why'][:160]}"
        print(text, flush=True)


def draw(table: dict, path: Path) -> bool:
    """A bar for each row and side, in units of PyTorch's eager time; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    rows = [r for r in table if ms(table[r], "torch") > 0]
    sides = [s for s in SIDES if any(s in table[r] for r in rows)]
    figure = Figure(figsize=(max(6, 1.1 * len(rows)), 4.5), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / max(len(sides), 1)
    for k, side in enumerate(sides):
        values = [ms(table[r], "torch") / ms(table[r], side) for r in rows]
        axes.bar([i + k * width for i in range(len(rows))], values, width, label=side)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks([i + 0.4 - width / 2 for i in range(len(rows))], rows, rotation=35, ha="right")
    axes.set_ylabel("times as quick as PyTorch, eager")
    axes.legend()
    figure.savefig(path, dpi=120)
    return True


def machine(device: str) -> dict[str, Any]:
    """What the figures were taken on."""
    found: dict[str, Any] = {"platform": platform.platform(), "cpus": os.cpu_count()}
    if device == "cuda":
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        found["gpu"] = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    commit = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    found["commit"] = subprocess.run(commit, capture_output=True, text=True, check=False).stdout.strip()
    return found


def chosen(text: str | None, usual: list[str], known: list[str]) -> list[str]:
    """What a comma-separated option names; SystemExit for what nobody knows."""
    wanted = [w.strip() for w in text.split(",")] if text else usual
    unknown = [w for w in wanted if w not in known]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--rows", help="comma-separated")
    parser.add_argument("--sides", help=f"some of {', '.join(SIDES)}")
    parser.add_argument("--seconds", type=float, default=3.0, help="of timing, per row and side")
    parser.add_argument("--patience", type=float, default=300.0, help="most seconds of one request")
    parser.add_argument("--without-dropout", action="store_true")
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    ledger.option(parser)
    args = parser.parse_args()
    if args.list:
        print("\n".join(ROWS))
        return
    rows = chosen(args.rows, ROWS, ROWS)
    sides = chosen(args.sides, USUAL[args.device], SIDES)
    print(f"{'ms a step':<17}" + "".join(f"{s:>15}" for s in sides) + f"{'eager x':>8} (best){'comp. x':>9} (best)")
    clock = "cpu" if args.cpu_time else "wall"
    workers = {side: Worker(side, args.device, clock) for side in sides}
    table: dict[str, Any] = {}
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"park-{args.device}-{datetime.date.today()}.json"
    for row in rows:
        table[row] = measure(row, workers, args)
        report(row, table[row], sides)
        told = {"machine": machine(args.device), "clock": clock, "rows": table}
        told["ratios"] = {r: ratios(f) for r, f in table.items()}
        compact.write(path, told)  # after each row: a run may be cut short
    for worker in workers.values():
        worker.close()
    ledger.record(
        args.ledger,
        "park",
        args.device,
        ledger.of_rows(table, "ms", "torch", {"ours": "", "ours compiled": " compiled"}),
    )
    drawn = draw(table, path.with_suffix(".png"))
    print("written:", path, "" if drawn else "(no picture: matplotlib is not installed)")


if __name__ == "__main__":
    main()
