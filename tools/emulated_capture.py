"""Compiled functions on an emulated GPU: programs lowered to CUDA, their graphs run kernel by kernel.

    PYTHONPATH=src python tools/emulated_gpu.py tools/emulated_capture.py [branching averaging ... scaler]

Graphs are those of emulated_graphs.py: captured once, launched over the memory planned for them. Recording, passes,
phases, arguments, gradients, reads and hooks are the real ones. Steps are those of
tests/capture/test_capture_traced.py and tests/capture/test_capture_scaler.py, small enough for the emulator.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cupy
import emulated_graphs
import numpy as np

import rushlight

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / f) for f in ("support", "capture")]

_folder = Path(__file__).resolve().parent
# The emulator is the driver, which no recording looks into.
EMULATOR = (str(_folder / "emulated_"), str(_folder / "host_path"))
STEPS = ("branching", "averaging", "comparing_with_the_last", "accumulating", "in_place", "scaler")


def on_host(a: Any) -> np.ndarray:
    """An emulated array's memory as NumPy sees it."""
    memory = (ctypes.c_char * max(a.nbytes, 1)).from_address(a.data.ptr)
    return np.ndarray(a.shape, a.dtype, memory, 0, a.strides)


def copied(a: Any) -> np.ndarray:
    """What an emulated array holds; the array may go."""
    return on_host(a).copy()


def on_gpu(a: Any) -> Any:
    """The array on the emulated GPU, with its strides."""
    if not isinstance(a, np.ndarray):
        return a
    order = sorted(range(a.ndim), key=lambda axis: -a.strides[axis])
    packed = np.ascontiguousarray(a.transpose(order))
    there = rushlight.tensor(packed).to("cuda")._a
    return there.transpose([order.index(axis) for axis in range(a.ndim)])


class Pool:
    """A pool whose blocks stay where they are as long as it lives."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []

    def malloc(self, size: int) -> Any:
        self.blocks.append(cupy.get_default_memory_pool().malloc(size))
        return self.blocks[-1]

    def total_bytes(self) -> int:
        return sum(b.mem.size for b in self.blocks)


@contextlib.contextmanager
def _using(allocator: Any) -> Iterator[None]:
    """CuPy's allocator of a block, which would ask the driver for its device."""
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(allocator)
    try:
        yield
    finally:
        cupy.cuda.set_allocator(before)


def install() -> None:
    """Put what CuPy's own kernels and the driver would do in their places."""
    from cupy.cuda import function

    from rushlight.amp.grad_scaler import _update
    from rushlight.capture.record import executed
    from rushlight.capture.replay import replay
    from rushlight.core.tensor import tensor_over
    from rushlight.runtime.cuda.bodies import update
    from rushlight.runtime.door import kernel_for

    emulated_graphs.install()
    known = executed.is_ours
    executed.is_ours = lambda file, *rest: file.startswith(EMULATOR) or known(file, *rest)
    cupy.cuda.MemoryPool = Pool
    cupy.cuda.using_allocator = _using
    edits = function.Module.get_function.__globals__["ASSEMBLY"]
    edits.append((r"(?<![:\w])isfinite\(", "std::isfinite("))

    def result(self: Any, i: int, outs: tuple, tensors: Any, *_: Any) -> Any:
        a = outs[i]
        copy = cupy.ndarray(a.shape, a.dtype, cupy.cuda.alloc(max(a.nbytes, 1)), a.strides)
        ctypes.memmove(copy.data.ptr, outs[i].data.ptr, copy.nbytes)
        return tensor_over(copy, self.low.array_type)

    replay.Replay._tensor = result  # type: ignore[method-assign]

    def refresh(self: Any) -> None:
        host = np.atleast_2d(self.host)  # rows of numbers, with room behind each
        values = np.zeros((len(host), self.device.size // len(host)))
        values[:, : host.shape[1]] = host
        ctypes.memmove(self.device.data.ptr, values.ctypes.data, values.nbytes)

    update._Live.refresh = refresh  # type: ignore[method-assign]

    @kernel_for("cuda", "amp_update")
    def update_scale(scale: Any, tracker: Any, found: Any, **attrs: Any) -> tuple:
        arrays = [on_host(a) for a in (scale, tracker, found)]
        if emulated_graphs.capture.work is None:
            return _update(np, *arrays, **attrs)
        emulated_graphs.capture.add(lambda: _update(np, *arrays, **attrs))
        return ()


def main() -> None:
    install()
    import test_capture_scaler
    import test_capture_traced
    from rushlight.core.hot import meeting

    meeting.timed = False  # the emulator's times say nothing
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or STEPS:
        if name == "scaler":
            for optimizer, make in test_capture_scaler.OPTIMIZERS.items():
                if optimizer in ("momentum", "adam"):
                    found = test_capture_scaler.compare(make, bad=(0, 7), calls=10, device="cuda")
                    print(f"{name} {optimizer}: equal, {found.replays[-1].runs} replays", flush=True)
            continue
        step = test_capture_traced.STEPS[name]
        replayed = test_capture_traced.compare(step, calls=18, device="cuda")
        print(f"{name}: equal, {replayed} kernels replayed", flush=True)


if __name__ == "__main__":
    main()
