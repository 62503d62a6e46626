"""Networks that stand in no other table, PyTorch's and ours by turns in one process: CPU time of one thread, or a GPU's.

    python benchmarks/strangers.py                      every row
    python benchmarks/strangers.py --rows bert,vae --seconds 0.3
    python benchmarks/strangers.py --profile bert       what an eager step of ours is made of
    python benchmarks/strangers.py --device cuda        time by the clock until the GPU is done

The figure of a side is the fastest of its rounds: on a machine that others use, only time of the processor's own says
anything, and the fastest round is the one with the least of the others in the caches.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import strangers_late  # noqa: E402
import strangers_november  # noqa: E402
import strangers_rows  # noqa: E402
import torch  # noqa: E402

import rushlight  # noqa: E402

ROWS = {**strangers_rows.ROWS, **strangers_november.ROWS, **strangers_late.ROWS}
FIRST = 8  # steps whose losses are compared; programs are made meanwhile


def prepared(row: str, module: Any, compiled: bool) -> tuple[Any, list[float]]:
    module.manual_seed(0)
    step = ROWS[row](module)
    if compiled:
        step = module.compile(step)
    return step, [float(step()) for _ in range(FIRST)]


def once(step: Any, seconds: float, done: Any) -> float:
    """Milliseconds of a step, over a short round."""
    clock = time.perf_counter if done else time.thread_time
    begin, count = clock(), 0
    while clock() - begin < seconds:
        step()
        count += 1
    if done:
        done()
    return (clock() - begin) / count * 1e3


def measure(row: str, seconds: float, rounds: int, gpu: bool = False) -> None:
    sides = {"torch": (torch, False), "ours": (rushlight, False), "compiled": (rushlight, True)}
    steps, losses = {}, {}
    for name, (module, compiled) in sides.items():
        steps[name], losses[name] = prepared(row, module, compiled)
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            done = sides[name][0].cuda.synchronize if gpu else None
            best[name] = min(best[name], once(step, seconds, done))
    off = [max(abs(a - b) / max(abs(a), 1e-6) for a, b in zip(losses["torch"], losses[name], strict=True))
           for name in ("ours", "compiled")]  # fmt: skip
    t, o, c = best.values()
    marks = "".join(
        [" eager" if t < o else "", " compiled" if t < 1.2 * c else "", " slower" if c > o else ""]
    )
    print(
        f"| {row} | {t:.3f} | {o:.3f} | {c:.3f} | {t / o:.2f} | {t / c:.2f} | {off[0]:.0e}, {off[1]:.0e} |{marks}",
        flush=True,
    )
    why = steps["compiled"].why() if hasattr(steps["compiled"], "why") else None
    if why:
        print("   ", str(why)[:300])


def profile(row: str, compiled: bool) -> None:
    step, _ = prepared(row, rushlight, compiled)
    with rushlight.profiler.profile() as found:
        for _ in range(20):
            step()
    print(found.key_averages().table(sort_by="self_cpu_time_total", row_limit=25))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--compiled", action="store_true", help="profile the compiled step")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rushlight.set_num_threads(1)
    gpu = args.device == "cuda"
    if gpu:
        torch.set_default_device("cuda")
        rushlight.set_default_device("cuda")
    if not args.profile:
        print(
            "| network | PyTorch | ours | compiled | eager | compiled | losses |\n|---|---|---|---|---|---|---|"
        )
    for row in args.rows.split(","):
        if args.profile:
            profile(row, args.compiled)
            continue
        try:
            measure(row, args.seconds, args.rounds, gpu)
        except Exception as error:  # the other rows are still of interest
            print(f"| {row} | {type(error).__name__}: {str(error)[:300]}", flush=True)


if __name__ == "__main__":
    main()
