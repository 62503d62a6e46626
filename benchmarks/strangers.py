"""Networks that stand in no other table, PyTorch's and ours by turns in one process: CPU time of one thread, or a GPU's.

    python benchmarks/strangers.py                      every row
    python benchmarks/strangers.py --rows bert,vae --seconds 0.3
    python benchmarks/strangers.py --profile bert       what an eager step of ours is made of
    python benchmarks/strangers.py --device cuda        time by the clock until the GPU is done
    python benchmarks/strangers.py --agree              losses and everything that was learnt beside PyTorch's: eager, compiled, traced

The figure of a side is the fastest of its rounds: on a machine that others use, only time of the processor's own says
anything, and the fastest round is the one with the least of the others in the caches.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

if "--agree" not in sys.argv:
    os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import ledger  # noqa: E402
import numpy as np  # noqa: E402
import strangers_rows  # noqa: E402
import torch  # noqa: E402

import rushlight  # noqa: E402

ROWS = strangers_rows.every_row()
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


def measure(row: str, seconds: float, rounds: int, gpu: bool = False) -> list[ledger.Figure]:
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
    marks = "".join([" eager" if t < o else "", " compiled" if t < 1.2 * c else "", " slower" if c > o else ""])
    print(
        f"| {row} | {t:.3f} | {o:.3f} | {c:.3f} | {t / o:.2f} | {t / c:.2f} | {off[0]:.0e}, {off[1]:.0e} |{marks}",
        flush=True,
    )
    why = steps["compiled"].why() if hasattr(steps["compiled"], "why") else None
    if why:
        print("   ", str(why)[:300])
    return [(row, o, t), (f"{row} compiled", c, t)]


def learnt(row: str, way: str, steps: int) -> tuple[list[float], list[Any]]:
    """The losses of a row's first steps and what it keeps afterwards, as arrays; warnings are let through."""
    module = torch if way == "torch" else rushlight
    if way == "traced":
        rushlight.tracing(True)
    try:
        module.manual_seed(0)
        step = ROWS[row](module)
        call = module.compile(step) if way == "compiled" else step
        losses = [float(call()) for _ in range(steps)]
        return losses, [t.detach().cpu().resolve_conj().numpy() for t in getattr(step, "kept", [])]
    finally:
        if way == "traced":
            rushlight.tracing(False)


def agree(row: str, steps: int) -> None:
    """How far each way of ours is from PyTorch, and from our own eager calls: losses, and the worst tensor."""
    found: dict[str, Any] = {}
    for way in ("torch", "eager", "compiled", "traced"):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found[way] = learnt(row, way, steps)
            except Exception as error:  # the other ways are still of interest
                print(f"    {row} {way}: {type(error).__name__}: {str(error)[:500]}", flush=True)
        for text in sorted({str(w.message)[:300] for w in said}):
            print(f"    {row} {way} warns: {text}")

    def apart(a: Any, b: Any) -> float:
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return math.inf
        a, b = np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0)
        return float(np.max(np.abs(a - b), initial=0) / max(np.max(np.abs(a), initial=0), 1e-6))

    def distance(one: str, other: str) -> str:
        if one not in found or other not in found:
            return "-"
        (la, pa), (lb, pb) = found[one], found[other]
        loss = max(apart(np.array(x), np.array(y)) for x, y in zip(la, lb, strict=True))
        held = [apart(x, y) if x.shape == y.shape else math.inf for x, y in zip(pa, pb, strict=True)]
        return f"{loss:.0e}, {max(held, default=0):.0e}"

    pairs = [("torch", w) for w in ("eager", "compiled", "traced")] + [("eager", w) for w in ("compiled", "traced")]
    print(f"| {row} | " + " | ".join(distance(*p) for p in pairs) + " |", flush=True)


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
    parser.add_argument("--agree", action="store_true", help="compare what is learnt, and time nothing")
    parser.add_argument("--steps", type=int, default=12, help="of --agree")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    ledger.option(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rushlight.set_num_threads(1)
    gpu = args.device == "cuda"
    if gpu:
        torch.set_default_device("cuda")
        rushlight.set_default_device("cuda")
    if args.agree:
        rushlight.tracing(False)
        print("| network | eager | compiled | traced | eager, compiled | eager, traced |\n|---|---|---|---|---|---|")
    elif not args.profile:
        print("| network | PyTorch | ours | compiled | eager | compiled | losses |\n|---|---|---|---|---|---|---|")
    figures: list[ledger.Figure] = []
    for row in args.rows.split(","):
        if args.agree:
            agree(row, args.steps)
            continue
        if args.profile:
            profile(row, args.compiled)
            continue
        try:
            figures += measure(row, args.seconds, args.rounds, gpu)
        except Exception as error:  # the other rows are still of interest
            print(f"| {row} | {type(error).__name__}: {str(error)[:300]}", flush=True)
    ledger.record(args.ledger, "strangers", args.device, figures)


if __name__ == "__main__":
    main()
