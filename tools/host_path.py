"""Microseconds the host spends on an eager GPU step, measured without a GPU.

    PYTHONPATH=src python tools/host_path.py [--only lab4 gpt6 ...] [--profile 30] [--bodies] [--steps 200]

Small steps on a GPU are bound by the host: checks, tape, allocation and launches take longer than the kernels.
This tool runs whole training steps through the real CUDA backend with everything below it replaced: device
memory is host memory, launches and libraries do nothing. Numbers are garbage, the host's path is the real
one. It needs CuPy (which imports without a driver), no driver and no GPU; the driver's own share of a launch,
about 2 us, is the one part that is missing. Bodies that only CuPy computes cannot run here: they answer empty
arrays, and `--bodies` counts them beside our own. Every row of benchmarks/park_rows.py is a step, in its full size.
"""

from __future__ import annotations

import argparse
import cProfile
import ctypes
import os
import pstats
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")  # eager calls are measured, not hot loops

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

LAUNCHES = 0  # how many kernels and library calls were asked for, other than in C
GENERIC: Counter[str] = Counter()  # kernels that came to the body that CuPy would compute


# -- below the backend ----------------------------------------------------------------------------


class Pool:
    """A caching pool over host memory, with the methods of CuPy's that the backend calls."""

    def __init__(self, cupy: Any) -> None:
        self.memory, self.pointer = cupy.cuda.UnownedMemory, cupy.cuda.MemoryPointer
        self.blocks: dict[int, Any] = {}
        self.asked = 0

    def malloc(self, size: int) -> Any:
        """Memory of a size; always the same block, since nobody reads values here."""
        rounded = size + 511 & ~511
        block = self.blocks.get(rounded)
        if block is None:
            block = self.blocks[rounded] = ctypes.create_string_buffer(rounded + 512)
        start = ctypes.addressof(block) + 511 & ~511
        return self.pointer(self.memory(start, rounded, block, 0), 0)

    def used_bytes(self) -> int:
        self.asked += 1
        return 0 if self.asked > 1 else 1 << 50  # the peak is long behind, as in a long run

    total_bytes = free_bytes = used_bytes

    def free_all_blocks(self) -> None:
        pass


class Kernel:
    """A function of a loaded module."""

    ptr = 1


class Module:
    """What `cupy.cuda.function.Module` is to the compiler."""

    def load(self, code: bytes) -> None:
        pass

    def get_function(self, name: str) -> Kernel:
        return Kernel()


class Device:
    """The one GPU there is."""

    compute_capability, id = "90", 0

    def __init__(self, index: int = 0) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


class Stream:
    """The default stream, which never records a graph."""

    ptr = 0

    def is_capturing(self) -> bool:
        return False

    def synchronize(self) -> None:
        pass


def launches() -> int:
    """Kernels, copies and library calls asked for so far."""
    from rushlight.runtime.cuda.code.launch import _native

    return LAUNCHES + (_native.launches() if _native is not None else 0)


class Library:
    """A cuDNN that runs plans by doing nothing."""

    version = 91900

    def execute(self, plan: int, uids: Any, addresses: list[int], workspace: int) -> None:
        count()


def count(*args: Any) -> None:
    """Stands for every launch."""
    global LAUNCHES
    LAUNCHES += 1


def no_driver() -> None:
    """Replace what CuPy would ask the driver; call it before the backend is imported."""
    import cupy
    from cupy.cuda import driver, function, runtime
    from cupy_backends.cuda.libs import nvrtc

    from rushlight.base.config import settings

    settings.compiles_ahead = False  # what it compiles is never run
    pool, stream = Pool(cupy), Stream()
    cupy.get_default_memory_pool = lambda: pool
    cupy.cuda.get_current_stream = lambda index=0: stream
    cupy.cuda.Device = Device
    cupy.zeros = cupy.empty  # CuPy's own kernels would ask for the driver
    cupy.copyto = lambda to, source: count()
    cupy.ascontiguousarray = lambda a: count() or cupy.empty(a.shape, a.dtype)
    driver.launchKernel = driver.launchCooperativeKernel = count
    driver.funcSetAttribute = lambda function, attribute, value: None
    driver.occupancyMaxActiveBlocksPerMultiprocessor = lambda function, threads, shared: 2
    function.Module = Module
    nvrtc.getVersion = lambda: (13, 0)
    answers: dict[str, Callable] = {
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "deviceSynchronize": lambda: None,
        "streamSynchronize": lambda stream: None,
        "memcpyAsync": _copy,
        "memsetAsync": count,
        "pointerGetAttributes": lambda p: SimpleNamespace(type=0),
        "deviceGetAttribute": lambda which, i: {75: 8, 95: 1}.get(which, 227 << 10),  # the last is of shared memory
        "getDeviceProperties": lambda i: {"name": b"no GPU", "multiProcessorCount": 132},
    }
    for name, answer in answers.items():
        setattr(runtime, name, answer)


def _copy(to: int, source: int, size: int, kind: int, stream: int) -> None:
    count()
    ctypes.memmove(to, source, size)


def no_libraries(in_c: bool = True) -> None:
    """Replace the compiler, cuBLASLt and cuDNN, those that C calls too; call it after the backend is imported."""
    from rushlight.runtime.cuda.bodies.layers import attention, conv
    from rushlight.runtime.cuda.code import compile, launch
    from rushlight.runtime.cuda.library import cublaslt as lt
    from rushlight.runtime.cuda.library import cudnn_graph

    launch.launch_in_c(pretend=True)
    compile._compile = lambda text, flags: b""
    compile._keep = lambda path, code: None
    compile.cubin = lambda text, flags: b""

    def matmul(*args: Any) -> int:
        count()
        return 0

    def library(self: Any) -> None:
        self.matmul, self.set, self.address = matmul, lambda *args: 0, 0
        native = launch._native if in_c else None
        self.matmul_at = self.set_at = 0 if native is None else native.pretended_words()
        self.plans, self.workspaces = {}, {}
        self._bias, self._bias_at = SimpleNamespace(value=0), 0

    def make(self: Any, what: Any, bias: int, accumulate: bool = False) -> Any:
        plan = lt.ProductPlan()
        plan.desc = plan.a = plan.b = plan.c = plan.algo = plan.alpha = plan.beta = 0
        return plan

    lt.CublasLt.__init__, lt.CublasLt.make = library, make
    lt.CublasLt.tune = lambda *args: None
    found = Library()

    def plan() -> Any:
        made = object.__new__(cudnn_graph.CudnnPlan)
        made.graph, made.lib, made.untuned = SimpleNamespace(numbers=[], scratches=[]), found, None
        made.uids, made.chosen = (), cudnn_graph.ChosenPlan(0, 0, SimpleNamespace(address=0))
        return made

    conv.plan_for = lambda what: plan()
    attention.library = lambda: found
    plans: dict[tuple, Any] = {}

    def attention_plan(key: tuple, describe: Any) -> Any:
        if key not in plans:
            plans[key] = plan()
        return plans[key]

    attention._plan = attention_plan


def no_generic() -> None:
    """Let what only CuPy computes answer empty arrays; call it before a kernel is bound."""
    import cupy
    import numpy as np

    from rushlight.runtime.cuda import backend
    from rushlight.runtime.cuda.bodies import stream

    stream.DrawStream._write = lambda *args: None

    def stand_in(kernel: Any) -> Callable[..., Any]:
        if kernel.is_view:
            return partial(kernel.generic, backend.CUPY)
        if kernel.name == "host_read":  # its answer is an array of the host
            return lambda a: np.empty(a.shape, a.dtype)
        shapes: dict[Any, Any] = {}

        def impl(*arrays: Any, **attrs: Any) -> Any:
            GENERIC[kernel.name] += 1
            count()
            key = (*[(a.shape, a.dtype) if hasattr(a, "shape") else a for a in arrays], repr(attrs))
            if key not in shapes:
                shapes[key] = _specs(kernel, arrays, attrs)
            made = tuple([cupy.ndarray(*spec) for spec in shapes[key]])
            return made if len(made) > 1 else made[0]

        return impl

    backend._generic = stand_in


def _specs(kernel: Any, arrays: tuple, attrs: dict) -> list:
    """Shapes and dtypes of a kernel's results: by its rule, or by NumPy over zeros."""
    import cupy
    import numpy as np

    if kernel.meta is not None:
        found = kernel.meta(*arrays, **attrs)
        return found if isinstance(found, list) else [found]
    zeros = [np.zeros(a.shape, a.dtype) if isinstance(a, cupy.ndarray) else a for a in arrays]
    found = kernel.generic(np, *zeros, **attrs)
    found = found if isinstance(found, tuple) else (found,)
    return [(np.shape(a), np.asarray(a).dtype) for a in found]


# -- steps ----------------------------------------------------------------------------------------


def park(row: str) -> Any:
    """The work of a row of the park as it runs on a GPU: a step and its arguments."""
    import numpy as np

    from rushlight.cli.scripts.alias import install

    install()
    import park_rows

    place = park_rows.Place("cuda", True, park_rows.plain, np.random.default_rng(0))
    return park_rows.ROWS[row](place)


def bodies(step: Callable[[], Any]) -> None:
    """Print how often each kernel passes the door in a step, and how often CuPy would compute it."""
    from rushlight.runtime.door import listening

    passed: Counter[str] = Counter()

    def listen(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        passed[kernel.name] += 1
        return call()

    GENERIC.clear()
    with listening(listen):
        step()
    for name, times in passed.most_common():
        print(f"  {name:<28}{times:>6}{GENERIC[name] or '':>6}")


def steps() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Name -> maker of a step; the networks are those of benchmarks/compiled.py."""
    import compiled

    import rushlight as torch

    def row(name: str, batch: int) -> Callable[[], Any]:
        step, x, y = compiled.step_of(torch, name, "cuda", batch)
        return lambda: step(x, y)

    def script() -> Callable[[], Any]:
        """The lab's loop without its loader: two copies up, a step, a read."""
        step, _, _ = compiled.step_of(torch, "lab4", "cuda")
        images, classes = torch.randn(4, 3, 32, 32), torch.zeros(4).long()
        return lambda: step(images.to("cuda"), classes.to("cuda")).item()

    return {
        "lab4": lambda: row("lab4", 4),
        "lab512": lambda: row("lab512", 512),
        "script": script,
        "resnet": lambda: row("resnet", 8),
        "mlp": lambda: row("mlp", 100),
        "dezero": book,
    }


def book() -> Callable[[], Any]:
    """A network as the DeZero book writes it in step 52, without the loader and without reading the loss."""
    import numpy as np

    import rushlight.dezero.functions as F
    from rushlight.dezero import cuda, layers, models, optimizers

    cuda.gpu_enable = True
    model = models.Sequential(layers.Linear(1000, in_size=784), F.sigmoid, layers.Linear(10, in_size=1000))
    model.to_gpu()
    optimiser = optimizers.SGD().setup(model)
    x, t = cuda.as_cupy(np.zeros((100, 784), np.float32)), cuda.as_cupy(np.zeros(100, np.int64))

    def step() -> None:
        loss = F.softmax_cross_entropy(model(x), t)
        model.cleargrads()
        loss.backward()
        optimiser.update()

    return step


def microseconds(step: Callable[[], Any], times: int, rounds: int = 7) -> float:
    """The least mean of several rounds, in time of this process: more is the machine's noise."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(times):
            step()
        best = min(best, (time.process_time() - begin) / times)
    return best * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["lab4", "script", "mlp", "resnet"])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--profile", type=int, default=0, metavar="LINES")
    parser.add_argument("--bodies", action="store_true", help="count the kernels of a step")
    args = parser.parse_args()
    no_driver()
    from rushlight.base.device import device
    from rushlight.runtime import devices

    devices.backend_of(device("cuda"))
    no_libraries()
    no_generic()
    known = steps()
    print(f"{'step':<16}{'us':>9}{'launches':>10}{'us each':>9}")
    for name in args.only:
        if name in known:
            step = known[name]()
        else:
            work = park(name)
            step = partial(work.step, *work.args)
        for _ in range(10):
            step()
        before = launches()
        step()
        each = launches() - before
        took = microseconds(step, max(3, args.steps * 30 // max(each, 30)))
        print(f"{name:<16}{took:>9.0f}{each:>10}{took / max(each, 1):>9.1f}", flush=True)
        if args.bodies:
            bodies(step)
        if args.profile:
            profile = cProfile.Profile()
            profile.enable()
            for _ in range(args.steps):
                step()
            profile.disable()
            stats = pstats.Stats(profile)
            stats.sort_stats("tottime").print_stats(args.profile)


if __name__ == "__main__":
    main()
