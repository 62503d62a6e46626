"""One op at a time, PyTorch's and ours by turns in one process, forward and with backward: CPU time of one thread, or time on a GPU.

    python benchmarks/ops.py                          every row
    python benchmarks/ops.py --rows grid --below 1.0  the rows whose name has "grid", and of them what is slower
    python benchmarks/ops.py --device cuda            the same rows on a GPU, until it has done them

The figure of a side is the fastest of its rounds; differences under a fifth say nothing on a machine that others use.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import ledger  # noqa: E402
import ops_rows  # noqa: E402
import torch  # noqa: E402

import rushlight  # noqa: E402


def drawn(kind: str, shape: tuple[int, ...], seed: int) -> Any:
    """f: normal, h: the same in bfloat16, u: between 0.05 and 0.95, s: sorted, c: grids, i: 1 to 99, n: below the first of the
    shape, p: those from 1, b: booleans."""
    r = np.random.RandomState(seed)
    if kind in "np":
        return r.randint(kind == "p", shape[0], shape[1:])
    if kind == "i":
        return r.randint(1, 100, shape)
    if kind == "b":
        return r.rand(*shape) > 0.5
    if kind == "u":
        return (0.05 + 0.9 * r.rand(*shape)).astype("f")
    if kind == "s":
        return np.sort(r.rand(*shape).astype("f"), -1)
    return (r.randn(*shape) * (0.5 if kind == "c" else 1)).astype("f")


def prepared(row: ops_rows.Row, lib: Any, backward: bool, device: str) -> Callable[[], Any]:
    names = {"T": lib, "F": lib.nn.functional, "nn": lib.nn}
    floats = []
    for seed, (name, (kind, *shape)) in enumerate(row.inputs.items()):
        value = lib.from_numpy(drawn(kind, tuple(shape), seed)).to(device)
        value = value.to(lib.bfloat16) if kind == "h" else value
        if backward and value.is_floating_point():
            floats.append(value.requires_grad_())
        names[name] = value
    lib.manual_seed(0)
    exec(row.setup, names)
    run = eval(f"lambda: {row.code}", names)
    if not backward:
        return run
    g = lib.ones_like(run()).detach().clone()

    def both() -> None:
        for x in floats:
            x.grad = None
        run().backward(g)

    return both


def once(run: Callable[[], Any], seconds: float, lib: Any, device: str) -> float:
    """Microseconds of a call, over a short round."""
    clock = time.thread_time if device == "cpu" else time.perf_counter
    wait = (lambda: None) if device == "cpu" else lib.cuda.synchronize
    wait()
    begin, count = clock(), 0
    while not count or clock() - begin < seconds:
        run()
        count += 1
    wait()
    return (clock() - begin) / count * 1e6


def measure(row: ops_rows.Row, backward: bool, seconds: float, rounds: int, device: str) -> tuple[float, float]:
    libs = (torch, rushlight)
    sides = [prepared(row, lib, backward, device) for lib in libs]
    best = [once(run, 0.0, lib, device) for run, lib in zip(sides, libs)]
    if device == "cpu" and max(best) > 2e5:  # a fifth of a second says enough
        return best[0], best[1]
    for _ in range(rounds):
        for k, run in enumerate(sides):
            best[k] = min(best[k], once(run, seconds, libs[k], device))
    return best[0], best[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="parts of names, by commas")
    parser.add_argument("--after", help="the name of a row: those behind it")
    parser.add_argument("--seconds", type=float, default=0.006, help="of a round")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--below", type=float, default=1e9, help="only rows whose ratio is smaller")
    parser.add_argument("--device", default="cpu")
    ledger.option(parser)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rushlight.set_num_threads(1)
    for lib in (torch, rushlight):  # modules and tensors that setups make
        lib.set_default_device(args.device)
    for lib in (torch, rushlight):  # PyTorch's first backward imports for half a second
        lib.ones(1, requires_grad=True).sum().backward(lib.ones(()))
    found: dict[str, tuple[float, float]] = {}
    print("| | PyTorch | ours | ratio |\n|---|---|---|---|")
    names = list(ops_rows.ROWS)
    for name in names[names.index(args.after) + 1 if args.after else 0 :]:
        row = ops_rows.ROWS[name]
        if not any(part in name for part in args.rows.split(",")):
            continue
        for backward in (False, True)[: 1 + row.backward]:
            label = name + " fb" * backward
            try:
                t, o = found[label] = measure(row, backward, args.seconds, args.rounds, args.device)
            except Exception as error:
                print(f"| {label} | {type(error).__name__}: {error} |", flush=True)
                continue
            if t / o < args.below:
                print(f"| {label} | {t:.1f} | {o:.1f} | {t / o:.2f} |", flush=True)
    ledger.record(args.ledger, "ops", args.device, [(name, o, t) for name, (t, o) in found.items()])


if __name__ == "__main__":
    main()
