"""The least time a step can take on a machine: its bytes at the speed of a copy, its products at that of one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any


def flops(program: Any) -> int:
    """Multiplications and additions of the products and convolutions of a recorded program."""
    return sum(_flops(ins) for ins in program.instructions)


def _flops(ins: Any) -> int:
    shapes = [s.shape for s in ins.reads]
    out = ins.outputs[0].shape if ins.outputs else ()
    if ins.name in ("linear", "mm", "bmm", "matmul", "addmm"):
        return 2 * math.prod(out) * shapes[0][-1]
    if ins.name == "mm_tn":
        return 2 * math.prod(out) * shapes[0][0]
    if ins.name == "conv":
        return 2 * math.prod(out) * math.prod(shapes[1][1:])
    if ins.name == "conv_grad_input":
        return 2 * math.prod(shapes[0]) * math.prod(shapes[1][1:])
    if ins.name == "conv_grad_weight":
        return 2 * math.prod(shapes[0]) * math.prod(out[1:])
    return 0


def speeds(lib: Any, device: str, half: bool, wait: Callable[[], Any]) -> tuple[float, float]:
    """Bytes a second of a copy, and flops a second of a large product, measured now."""
    size = 1 << (26 if device == "cuda" else 24)
    source = lib.ones(size).to(device)
    target = lib.zeros(size).to(device)
    copied = 8 * size / _seconds(lambda: target.copy_(source), wait)
    n = 4096 if device == "cuda" else 1024
    a = lib.randn(n, n).to(device)
    if half:
        a = a.to(lib.bfloat16)
    return copied, 2 * n**3 / _seconds(lambda: a @ a, wait)


def _seconds(fn: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """The best of a few rounds."""
    fn()
    wait()
    best = math.inf
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(3):
            fn()
        wait()
        best = min(best, (time.perf_counter() - begin) / 3)
    return best


def floor_us(program: Any, recorded: Any, bandwidth: float, rate: float) -> float:
    """Microseconds below which no program for these results can come on this machine."""
    return 1e6 * max(program.least_bytes() / bandwidth, flops(recorded) / rate)
