"""The speed check of `rushlight doctor`: what this machine does, beside what its clock, cores and memory allow."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from .data.cache import free_memory

# Float32 operations a cycle of one core: multiplications and additions, of two vector units.
A_CYCLE = {"AVX512": 64, "AVX2": 32, "BASE": 16}
# Float32 units of a multiprocessor, by compute capability; of others it has 128.
UNITS = {(7, 0): 64, (7, 2): 64, (7, 5): 64, (8, 0): 64}
_SECONDS = 0.7  # for one figure; nine of them are less than ten seconds


class Figure(NamedTuple):
    """One measured number, what it is compared with, and the least share of that which is no fault."""

    name: str
    value: float
    unit: str
    against: float | None
    what: str  # what it is compared with
    least: float

    @property
    def slow(self) -> bool:
        return self.against is not None and self.value < self.least * self.against

    def line(self) -> str:
        text = f"{self.name} {_round(self.value)} {self.unit}"
        if self.against is None:
            return text
        return f"{text}: {100 * self.value / self.against:.0f} % of {_round(self.against)}, {self.what}"


def _round(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def measure() -> list[Figure]:
    """Every figure of the CPU, and of the first GPU where there is one."""
    from ..runtime.cuda import why_not

    return _cpu() + (_gpu() if why_not() is None else [])


def least_time(call: Callable[[], object], seconds: float = _SECONDS) -> float:
    """The shortest of the times that a call took, of those that fit into some seconds."""
    call()
    end, best = time.perf_counter() + seconds, float("inf")
    while True:
        begun = time.perf_counter()
        call()
        now = time.perf_counter()
        best = min(best, now - begun)
        if now > end:
            return best


# -- the CPU ----------------------------------------------------------------------------------------


def _cpu() -> list[Figure]:
    import rushlight as rl

    from ..runtime.cpu import threads

    n = 1024
    a, b = rl.rand(n, n), rl.rand(n, n)
    x, y = a.numpy(), b.numpy()
    work = 2e-9 * n**3
    ours, theirs = work / least_time(lambda: a @ b), work / least_time(lambda: x @ y)
    return [
        Figure("product", ours, "GFLOP/s", _most(threads.get()), "what the clock and the instructions allow", 0.3),
        Figure("product", ours, "GFLOP/s", theirs, "NumPy's", 0.6),
        _copying(rl, threads.get()),
        _calling(rl),
    ]


def _most(threads: int) -> float | None:
    """GFLOP/s of that many cores when every cycle starts the most that it can; None where nobody tells the clock."""
    from ..runtime.cpu.engine import capability

    clock = _gigahertz()
    if clock is None:
        return None
    return min(threads, _cores()) * clock * A_CYCLE.get(capability(), A_CYCLE["BASE"])


def _cores() -> int:
    """Cores without the second threads of theirs, which share the vector units."""
    found = set()
    for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"):
        with open(path, encoding="ascii") as f:
            found.add(f.read())
    return len(found) or os.cpu_count() or 1


def _gigahertz() -> float | None:
    try:
        with open("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", encoding="ascii") as f:
            return int(f.read()) / 1e6
    except (OSError, ValueError):
        pass
    try:
        with open("/proc/cpuinfo") as f:
            found = re.findall(r"^cpu MHz\s*:\s*([\d.]+)", f.read(), re.M)
    except OSError:
        return None
    return max(map(float, found)) / 1e3 if found else None


def _copying(rl: Any, threads: int) -> Figure:
    """Bytes a second, read and written, by an array that no cache holds; beside copies of NumPy's in threads."""
    size = int(min(2**28, max(2**24, 4 * _largest_cache()), free_memory() / 8)) // 4
    a, b = rl.zeros(size), rl.zeros(size)
    pairs = list(zip(np.array_split(a.numpy(), threads), np.array_split(b.numpy(), threads)))
    with ThreadPoolExecutor(threads) as pool:
        plain = least_time(lambda: list(pool.map(lambda pair: np.copyto(*pair), pairs)))
    ours = least_time(lambda: a.copy_(b))
    return Figure("memory", 8e-9 * size / ours, "GB/s", 8e-9 * size / plain, "plain copies by as many threads", 0.5)


def _largest_cache() -> int:
    sizes = [0]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        with open(path, encoding="ascii") as f:
            found = re.fullmatch(r"(\d+)([KM])", f.read().strip())
        if found is not None:
            sizes.append(int(found[1]) * {"K": 2**10, "M": 2**20}[found[2]])
    return max(sizes)


def _calling(rl: Any) -> Figure:
    """Small additions a second: without the parts in C they are several times fewer."""
    x = rl.zeros(8, 8)
    y = x.numpy()
    ours = least_time(lambda: [x + x for _ in range(100)], 0.3)
    plain = least_time(lambda: [y + y for _ in range(100)], 0.3)
    return Figure("calls", 1e-4 / ours, "million/s", 1e-4 / plain, "NumPy's, of 8x8 numbers", 0.15)


# -- the first GPU ----------------------------------------------------------------------------------


def _gpu() -> list[Figure]:
    import rushlight as rl

    def timed(call: Callable[[], object], count: int) -> float:
        def several() -> None:
            for _ in range(count):
                call()
            rl.cuda.synchronize()

        return least_time(several) / count

    n = 4096
    a, b = rl.rand(n, n, device="cuda"), rl.rand(n, n, device="cuda")
    product = 2e-12 * n**3 / timed(lambda: a @ b, 4)
    size = int(min(2**29, rl.cuda.mem_get_info(0)[0] / 8)) // 4
    c, d = rl.zeros(size, device="cuda"), rl.zeros(size, device="cuda")
    copied = 8e-9 * size / timed(lambda: c.copy_(d), 4)
    most, memory = _gpu_limits(rl)
    return [
        Figure("GPU product", product, "TFLOP/s", most, "what its clock allows in float32", 0.4),
        Figure("GPU memory", copied, "GB/s", memory, "what its memory allows", 0.5),
    ]


def _gpu_limits(rl: Any) -> tuple[float | None, float | None]:
    """TFLOP/s in float32 and GB/s of the first GPU, by the driver's words; None where it does not tell."""
    import cupy

    def asked(attribute: int) -> int:  # cudaDeviceAttr; kHz and bits
        return cupy.cuda.runtime.deviceGetAttribute(attribute, 0)

    p = rl.cuda.get_device_properties(0)
    units = p.multi_processor_count * UNITS.get((p.major, p.minor), 128)
    try:
        clock, memory, width = asked(13), asked(36), asked(37)
    except Exception:  # noqa: BLE001 - an older or an emulated driver does not know it
        return None, None
    return (2e-9 * clock * units or None, 2e-6 * memory * width / 8 or None)
