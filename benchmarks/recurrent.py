"""Recurrent layers on the GPU: milliseconds of forward and backward, PyTorch's and ours in one run.

    python benchmarks/recurrent.py [--rows NAME ...] [--dtype float32|tf32|float16|bfloat16] [--seconds 1]

Each side runs in a process of its own. Below each row: loss and gradients, which should agree, the first call, peak
memory, and the milliseconds that each of cuDNN's algorithms took when it was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

ROOT = Path(__file__).resolve().parents[1]
SIDES = ("torch", "ours", "ours compiled")
# name -> (kind, input, hidden, batch, steps, options)
ROWS: dict[str, tuple] = {
    "lstm 2 x 650": ("LSTM", 650, 650, 20, 35, {"num_layers": 2}),
    "lstm 2 x 650, dropout": ("LSTM", 650, 650, 20, 35, {"num_layers": 2, "dropout": 0.5}),
    "lstm 2 x 128": ("LSTM", 128, 128, 20, 35, {"num_layers": 2}),
    "lstm 1 x 1024": ("LSTM", 1024, 1024, 64, 100, {}),
    "lstm 512, projected to 128": ("LSTM", 256, 512, 32, 50, {"proj_size": 128}),
    "gru 2 x 256, both ways": ("GRU", 256, 256, 64, 60, {"num_layers": 2, "bidirectional": True}),
    "gru 64, one step": ("GRU", 64, 64, 1, 1, {}),
    "rnn 256": ("RNN", 256, 256, 32, 50, {}),
}


def worker(side: str, dtype: str, names: list[str], seconds: float) -> None:
    if side == "torch":
        import torch
    else:
        sys.path.insert(0, str(ROOT / "src"))
        import rushlight as torch
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    d = torch.float32 if dtype == "tf32" else getattr(torch, dtype)
    for name in names:
        kind, width, hidden, batch, steps, how = ROWS[name]
        torch.manual_seed(0)
        net = getattr(torch.nn, kind)(width, hidden, **how).to("cuda").to(d)
        x = torch.randn(steps, batch, width).to("cuda").to(d)

        def step(x: Any, net: Any = net) -> Any:
            net.zero_grad()
            out, _ = net(x)
            loss = (out.float() * out.float()).mean()
            loss.backward()
            return loss

        call = torch.compile(step) if side == "ours compiled" else step
        begin = time.perf_counter()
        loss = float(call(x))
        found: dict[str, Any] = {"loss": loss, "first_s": time.perf_counter() - begin}
        found["grad"] = float(net.weight_hh_l0.grad.float().abs().sum())
        found["ms"] = timed(torch, call, x, seconds)
        found["peak_mb"] = torch.cuda.max_memory_allocated() / 2**20
        if side != "torch":
            found["algorithms"] = measured()
            why = getattr(call, "why", None)
            found["why"] = why() if why else None
        print(json.dumps(found), flush=True)


def measured() -> dict[int, float]:
    """The times of the algorithms that were compared since the last call, by their numbers."""
    from rushlight.runtime.cuda.library.cudnn_rnn import measured as times

    found = dict(times)
    times.clear()
    return found


def timed(torch: Any, call: Any, x: Any, seconds: float) -> float:
    for _ in range(6):
        call(x)
    torch.cuda.synchronize()
    rounds = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rounds) < 3:
        begin = time.perf_counter()
        for _ in range(10):
            call(x)
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begin) * 100)
    return statistics.median(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="*", help="parts of names")
    parser.add_argument("--dtype", default="tf32")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--worker")
    args = parser.parse_args()
    names = [n for n in ROWS if not args.rows or any(r in n for r in args.rows)]
    if args.worker:
        worker(args.worker, args.dtype, names, args.seconds)
        return
    table: dict[str, list] = {}
    for side in SIDES:
        command = [sys.executable, __file__, "--worker", side, "--dtype", args.dtype, "--seconds",
                   str(args.seconds), "--rows", *names]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        table[side] = [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")]
        if done.returncode:
            print(f"{side}: {done.stderr[-1500:]}")
    print(f"{args.dtype:28}" + "".join(f"{s:>15}" for s in SIDES) + "    x    x compiled")
    for i, name in enumerate(names):
        found = {s: table[s][i] if i < len(table[s]) else {} for s in SIDES}
        times = [found[s].get("ms", float("nan")) for s in SIDES]
        line = f"{name:28}" + "".join(f"{t:>15.3f}" for t in times)
        print(line + f"{times[0] / times[1]:>6.2f}{times[0] / times[2]:>8.2f}")
        print(
            "    "
            + json.dumps({s: {k: v for k, v in f.items() if k != "ms"} for s, f in found.items()})
        )


if __name__ == "__main__":
    main()
