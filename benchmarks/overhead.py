"""Microseconds of one taped op on 8x8 tensors and of a backward through 20 ops: ours and PyTorch's.

    python benchmarks/overhead.py

Both run in this process on one thread, interleaved; the figure is the least of many rounds, because
anything above it is the machine's noise.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops


def rounds(fns: list[Callable], count: int, repeats: int = 15) -> list[float]:
    best = [float("inf")] * len(fns)
    for _ in range(repeats):
        for i, fn in enumerate(fns):
            begin = time.perf_counter()
            for _ in range(count):
                fn()
            best[i] = min(best[i], (time.perf_counter() - begin) / count * 1e6)
    return best


def cases(lib: Any) -> dict[str, tuple[Callable, int]]:
    rng = np.random.RandomState(0)
    x = lib.from_numpy(rng.rand(8, 8).astype("f")).requires_grad_()
    y = lib.from_numpy(rng.rand(8, 8).astype("f")).requires_grad_()

    def chain() -> Any:
        z = x
        for _ in range(10):
            z = z * y + x
        return z.sum()

    def through() -> None:
        chain().backward()

    return {
        "add": (lambda: x + y, 2000),
        "mul": (lambda: x * y, 2000),
        "relu": (lambda: lib.relu(x), 2000),
        "sum": (lambda: x.sum(), 2000),
        "matmul": (lambda: x @ y, 2000),
        "view": (lambda: x.view(64), 2000),
        "20 ops and their backward": (through, 100),
    }


def main() -> None:
    try:
        import torch
    except ImportError:
        sys.exit("benchmarks/overhead.py compares with PyTorch: run `make parity` first")
    import rushlight

    torch.set_num_threads(1)
    ours, theirs = cases(rushlight), cases(torch)
    table = {}
    print(f"{'':<28}{'rushlight':>12}{'PyTorch':>12}{'ratio':>8}   (microseconds)")
    for name, (fn, count) in ours.items():
        a, b = rounds([fn, theirs[name][0]], count)
        table[name] = {"rushlight": round(a, 2), "torch": round(b, 2), "ratio": round(a / b, 2)}
        print(f"{name:<28}{a:>12.2f}{b:>12.2f}{a / b:>8.2f}")
    if "--json" in sys.argv:
        print(
            json.dumps({"machine": platform.machine(), "torch": torch.__version__, "rows": table})
        )


if __name__ == "__main__":
    main()
