"""Compiled functions on an emulated GPU: programs lowered to CUDA, their graphs run kernel by kernel.

    PYTHONPATH=src python tools/emulated_gpu.py tools/emulated_capture.py [branching averaging ... scaler]

What a graph would do is done by running its instructions again; results keep their memory, as in a graph.
Recording, passes, phases, arguments, gradients, splits and hooks are the real ones. Steps are those of
tests/test_capture_split.py and tests/test_capture_scaler.py, small enough for the emulator.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import warnings
from pathlib import Path
from typing import Any

import cupy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

STEPS = ("branching", "averaging", "comparing_with_the_last", "accumulating", "in_place", "scaler")


class Graph:
    """A stretch of instructions that is run again at every launch."""

    def __init__(self, low: Any, instructions: list[Any], keep: set[int]) -> None:
        from rushlight.capture.lower import cuda_graph as graph_cuda

        self.low, self.graph, self.hooks = low, None, ()
        self.phases = graph_cuda.Phases(low.program, instructions)
        graph_cuda.Graph._prepare_moves(self)  # type: ignore[arg-type]
        self.results: dict[int, Any] = {}

    def launch(self) -> None:
        low = self.low
        for ins in self.phases.before:
            low.on_host(ins)
        for ins in self.phases.graph:
            low.execute(ins)
        for slot in low.program.results:
            a = low.env.get(slot.number)
            if isinstance(a, cupy.ndarray):
                first = self.results.setdefault(slot.number, a)
                if first is not a:
                    ctypes.memmove(first.data.ptr, a.data.ptr, a.nbytes)
                    low.env[slot.number] = first
        for ins in self.phases.after:
            low.execute(ins)


def on_host(a: Any) -> np.ndarray:
    """An emulated array's memory as NumPy sees it."""
    memory = (ctypes.c_char * max(a.nbytes, 1)).from_address(a.data.ptr)
    return np.ndarray(a.shape, a.dtype, memory, 0, a.strides)


def install() -> None:
    """Put what CuPy's own kernels and the driver would do in their places."""
    from cupy.cuda import function

    from rushlight.amp.grad_scaler import _update
    from rushlight.capture.lower import cuda as lower_cuda
    from rushlight.capture.replay import replay
    from rushlight.capture.trace.segment import blank
    from rushlight.core.tensor import tensor_over
    from rushlight.runtime.door import kernel_for

    cupy.cuda.MemoryPool = lambda: cupy.get_default_memory_pool()
    cupy.cuda.using_allocator = lambda allocator: contextlib.nullcontext()
    lower_cuda.Graph = Graph  # type: ignore[assignment,misc]
    edits = function.Module.get_function.__globals__["ASSEMBLY"]
    edits.append((r"(?<![:\w])isfinite\(", "std::isfinite("))

    def result(self: Any, i: int, outs: tuple, tensors: Any) -> Any:
        copy = blank(outs[i])
        ctypes.memmove(copy.data.ptr, outs[i].data.ptr, copy.nbytes)
        return tensor_over(copy, self.lowered.array_type)

    replay.Replay._tensor = result  # type: ignore[method-assign]

    @kernel_for("cuda", "amp_update")
    def update(scale: Any, tracker: Any, found: Any, **attrs: Any) -> tuple:
        return _update(np, on_host(scale), on_host(tracker), on_host(found), **attrs)


def main() -> None:
    install()
    import test_capture_scaler
    import test_capture_split

    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or STEPS:
        if name == "scaler":
            for optimizer, make in test_capture_scaler.OPTIMIZERS.items():
                if optimizer in ("momentum", "adam"):
                    found = test_capture_scaler.compare(make, bad=(0, 7), calls=10, device="cuda")
                    print(
                        f"{name} {optimizer}: equal, {found.replays[-1].runs} replays", flush=True
                    )
            continue
        tracer = test_capture_split.compare(test_capture_split.STEPS[name], calls=18, device="cuda")
        print(f"{name}: equal, {tracer.ran} kernels run, {tracer.replayed} replayed", flush=True)


if __name__ == "__main__":
    main()
