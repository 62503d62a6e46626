"""Peak memory of training steps on a GPU, eager and compiled, told without a GPU.

    PYTHONPATH=src python tools/peak_memory.py [gpt2 resnet50 ...] [--largest 8]

Rows are those of benchmarks/park_rows.py, in their full size.

Everything above the driver is real: what kernels and libraries ask for, recording, passes, the two captures of a
program and the plan of its arena. Addresses are numbers that nobody looks behind, and launches do nothing, so that
networks of any size fit. What needs one of CuPy's own kernels answers arrays of the right
sizes, without the temporaries it would have. Needs CuPy, which imports without a driver.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

sys.path.insert(0, str(Path(__file__).resolve().parent))

import emulated_gpu
import host_path

_MB = 1 << 20


class _Owner:
    """Stands behind a piece of memory as long as it is in use."""


class Pool(host_path.Pool):
    """Memory that is only counted: every piece has an address of its own, and nothing behind it."""

    here: Pool

    def __init__(self, cupy: Any) -> None:
        super().__init__(cupy)
        self.next, self.live, self.peak = 1 << 40, 0, 0
        Pool.here = self

    def malloc(self, size: int) -> Any:
        rounded = size + 511 & ~511
        address, self.next = self.next, self.next + rounded + 512
        owner = _Owner()
        self.live += rounded
        self.peak = max(self.peak, self.live)
        weakref.finalize(owner, self._freed, rounded)
        return self.pointer(self.memory(address, rounded, owner, 0), 0)

    def _freed(self, rounded: int) -> None:
        self.live -= rounded


def install() -> None:
    """Make `cuda` a GPU that does nothing; call it before the backend is used."""
    host_path.Pool = Pool  # type: ignore[misc]
    host_path.no_driver()
    import cupy
    from cupy.cuda import runtime

    runtime.memcpyAsync = runtime.memsetAsync = cupy.copyto = lambda *args, **kwargs: None
    import emulated_capture
    import emulated_graphs

    from rushlight.capture.state import known

    known.BELOW.add(Pool._freed.__code__)

    emulated_graphs.Capture._tell = lambda self, address: None  # type: ignore[method-assign]
    emulated_gpu.drivers.append(None)
    emulated_graphs.install()
    cupy.cuda.using_allocator = emulated_capture._using
    from rushlight.base.device import device
    from rushlight.runtime import devices
    from rushlight.runtime.door import KERNELS

    cupy.cuda.Device = host_path.Device
    devices.backend_of(device("cuda"))
    host_path.no_libraries()
    from rushlight.runtime.cuda import backend

    backend._generic = _of_any_library(backend._generic)
    bodies = devices.overrides("cuda")
    for name, body in list(bodies.items()):
        if name in KERNELS and callable(body):
            bodies[name] = _or_empty(body, KERNELS[name])
    from rushlight.capture.lower import cuda
    from rushlight.capture.record import recording
    from rushlight.runtime.cuda.bodies import stream, update
    from rushlight.runtime.cuda.bodies.layers import attention

    cuda.try_kernels = lambda program: None
    recording._same_values = lambda a, b: True  # nobody can look behind an address
    attention._takes = lambda *args, **kwargs: True
    attention._plan = lambda key, describe: lambda *args: None
    update._Live.refresh = lambda self: None  # type: ignore[method-assign]
    stream.DrawStream._write = lambda self, seed, counter: None  # type: ignore[method-assign]


def _or_empty(body: Callable, kernel: Any) -> Callable:
    """A body that answers arrays of the right sizes where one of CuPy's own kernels would be needed."""
    import cupy
    from cupy.cuda import runtime

    def run(*arrays: Any, **attrs: Any) -> Any:
        try:
            return body(*arrays, **attrs)
        except runtime.CUDARuntimeError:
            if kernel.mutates:
                return ()
            if kernel.meta is None:
                raise
        made = kernel.meta(*arrays, **attrs)
        if made.__class__ is list:
            return tuple([cupy.ndarray(shape, dtype) for shape, dtype in made])
        return cupy.ndarray(*made)

    return run


def _of_any_library(generic: Callable[[Any], Callable]) -> Callable[[Any], Callable]:
    return lambda kernel: _or_empty(generic(kernel), kernel)


class Measured:
    """What the calls of a step needed at the most, and the compiled step."""

    def __init__(self, row: str) -> None:
        import rushlight as torch

        pool = Pool.here
        gc.collect()  # the row before must not be freed while this one is counted
        start = pool.live
        work = host_path.park(row)

        def peak(call: Callable) -> int:
            pool.peak = pool.live
            call(*work.args)
            return pool.peak - start

        self.eager = [peak(work.step) for _ in range(3)][-1]
        self.compiled = torch.compile(work.step, fullgraph=True)
        self.calls = [peak(self.compiled) for _ in range(4)]
        self.lowered = self.compiled.replays[-1].low
        self.program = self.compiled.program()

    def largest(self, count: int) -> list[str]:
        """The buffers of the program's peak, alike ones together."""
        makers: dict[int, str] = {}
        for ins in self.program.instructions:
            for s in () if ins.is_view else ins.outputs:
                makers.setdefault(s.storage.number, f"{ins.name} {s.dtype}{list(s.shape)}")
        sums: Counter[str] = Counter()
        times: Counter[str] = Counter()
        for storage in self.program.peak()[2]:
            sums[makers[storage.number]] += storage.nbytes
            times[makers[storage.number]] += 1
        return [f"{n / _MB:9.1f} MB  {times[k]:3} x {k}" for k, n in sums.most_common(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", default="gpt2 gpt6 resnet50 vgg mobilenet".split())
    parser.add_argument("--largest", type=int, default=0, metavar="COUNT")
    args = parser.parse_args()
    install()
    print(f"{'MB':<12}{'eager':>9}{'recorded':>10}{'replayed':>10}{'arena':>9}{'least':>9}")
    for name in args.rows:
        m = Measured(name)
        row = (m.eager, max(m.calls[:2]), m.calls[-1], m.lowered.arena_bytes, m.program.peak()[0])
        print(f"{name:<12}{row[0] / _MB:>9.0f}{row[1] / _MB:>10.0f}{row[2] / _MB:>10.0f}"
              f"{row[3] / _MB:>9.0f}{row[4] / _MB:>9.0f}", flush=True)  # fmt: skip
        for line in m.largest(args.largest):
            print("   ", line)
        del m


if __name__ == "__main__":
    main()
