"""Microseconds the host spends on an eager GPU step, measured without a GPU.

    PYTHONPATH=src python tools/host_path.py [--only lab4 ...] [--profile 30] [--steps 200]

Small steps on a GPU are bound by the host: checks, tape, allocation and launches take longer than the kernels.
This tool runs whole training steps through the real CUDA backend with everything below it replaced: device
memory is host memory, launches and libraries do nothing. Numbers are garbage, the host's path is the real
one. It needs CuPy (which imports without a driver), no driver and no GPU; the driver's own share of a launch,
about 2 us, is the one part that is missing.
"""

from __future__ import annotations

import argparse
import cProfile
import ctypes
import pstats
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

LAUNCHES = 0  # how many kernels and library calls were asked for, other than in C


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


class Graph:
    """A cuDNN graph whose plans do nothing."""

    def _execute_plan_at_index(self, pointers: dict, room: int, index: int, own: Any) -> None:
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

    pool, stream = Pool(cupy), Stream()
    cupy.get_default_memory_pool = lambda: pool
    cupy.cuda.get_current_stream = lambda index=0: stream
    cupy.cuda.Device = lambda index=0: SimpleNamespace(compute_capability="90", id=0)
    cupy.zeros = cupy.empty  # CuPy's own kernels would ask for the driver
    cupy.copyto = lambda to, source: count()
    cupy.ascontiguousarray = lambda a: count() or cupy.empty(a.shape, a.dtype)
    driver.launchKernel = count
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
        "getDeviceProperties": lambda i: {"name": b"no GPU", "multiProcessorCount": 132},
    }
    for name, answer in answers.items():
        setattr(runtime, name, answer)


def _copy(to: int, source: int, size: int, kind: int, stream: int) -> None:
    count()
    ctypes.memmove(to, source, size)


def no_libraries() -> None:
    """Replace the compiler, cuBLASLt and cuDNN; call it after the backend is imported."""
    from rushlight.runtime.cuda.bodies import conv
    from rushlight.runtime.cuda.code import compile, launch
    from rushlight.runtime.cuda.library import cublaslt as lt
    from rushlight.runtime.cuda.library import cudnn as cudnn_graph

    launch.launch_in_c(pretend=True)
    compile._compile = lambda text, flags: b""
    compile._keep = lambda path, code: None
    compile.cubin = lambda text, flags: b""

    def matmul(*args: Any) -> int:
        count()
        return 0

    def library(self: Any) -> None:
        self.matmul, self.set, self.address = matmul, lambda *args: 0, 0
        self.plans, self.workspaces = {}, {}
        self._bias, self._bias_at = SimpleNamespace(value=0), 0

    def make(self: Any, what: Any, bias: int, accumulate: bool = False) -> Any:
        plan = lt.Plan()
        plan.desc = plan.a = plan.b = plan.c = plan.algo = plan.alpha = plan.beta = 0
        return plan

    lt.Library.__init__, lt.Library.make = library, make
    lt.Library.tune = lambda *args: None
    conv.plan_for = lambda what: cudnn_graph.Plan(Graph(), (0, 1, 2, 3)[: 4 if what.bias else 3])
    cudnn_graph.handle = lambda: 0


# -- steps ----------------------------------------------------------------------------------------


def steps() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Name -> maker of a step; the networks are those of benchmarks/gpu_worker.py."""
    sys.argv = [sys.argv[0], "rushlight"]
    import gpu_worker as work

    import rushlight as torch
    from rushlight.nn import functional as F

    def lab(batch: int) -> Callable[[], Any]:
        net = work.Lab().to("cuda")
        optimiser = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        loss_of = torch.nn.CrossEntropyLoss()
        x, t = torch.randn(batch, 3, 32, 32).to("cuda"), torch.zeros(batch).long().to("cuda")

        def step() -> None:
            optimiser.zero_grad()
            loss_of(net(x), t).backward()
            optimiser.step()

        return step

    def script() -> Callable[[], Any]:
        """The lab's loop without its loader: two copies up, a step, a read."""
        net = work.Lab().to("cuda")
        optimiser = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        loss_of = torch.nn.CrossEntropyLoss()
        images, classes = torch.randn(4, 3, 32, 32), torch.zeros(4).long()

        def step() -> float:
            x, t = images.to("cuda"), classes.to("cuda")
            optimiser.zero_grad()
            loss = loss_of(net(x), t)
            loss.backward()
            optimiser.step()
            return loss.item()

        return step

    def resnet(bf16: bool) -> Callable[[], Any]:
        net = work.ResNet18().to("cuda")
        x, t = torch.randn(8, 3, 32, 32).to("cuda"), torch.zeros(8).long().to("cuda")
        if bf16:
            net = net.to(memory_format=torch.channels_last)
            x = x.to(memory_format=torch.channels_last)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

        def step() -> None:
            optimiser.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
                loss = F.cross_entropy(net(x), t)
            loss.backward()
            optimiser.step()

        return step

    def mlp() -> Callable[[], Any]:
        net = torch.nn.Sequential(
            torch.nn.Linear(784, 1000), torch.nn.Sigmoid(), torch.nn.Linear(1000, 10)
        ).to("cuda")
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
        x, t = torch.randn(100, 784).to("cuda"), torch.zeros(100).long().to("cuda")

        def step() -> None:
            optimiser.zero_grad()
            F.cross_entropy(net(x), t).backward()
            optimiser.step()

        return step

    return {
        "lab4": lambda: lab(4),
        "lab512": lambda: lab(512),
        "script": script,
        "resnet_bf16": lambda: resnet(True),
        "resnet_fp32": lambda: resnet(False),
        "mlp": mlp,
        "dezero": book,
    }


def book() -> Callable[[], Any]:
    """`mlp` as the DeZero book writes it in step 52, without the loader and without reading the loss."""
    import numpy as np

    import rushlight.dezero.functions as F
    from rushlight.dezero import cuda, layers, models, optimizers

    cuda.gpu_enable = True
    model = models.Sequential(
        layers.Linear(1000, in_size=784), F.sigmoid, layers.Linear(10, in_size=1000)
    )
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
    parser.add_argument("--only", nargs="*", default=["lab4", "script", "mlp", "resnet_bf16"])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--profile", type=int, default=0, metavar="LINES")
    args = parser.parse_args()
    no_driver()
    from rushlight.base.device import device
    from rushlight.runtime import devices

    devices.backend_of(device("cuda"))
    no_libraries()
    known = steps()
    print(f"{'step':<16}{'us':>9}{'launches':>10}{'us each':>9}")
    for name in args.only:
        step = known[name]()
        for _ in range(10):
            step()
        before = launches()
        step()
        each = launches() - before
        took = microseconds(step, max(3, args.steps * 30 // max(each, 30)))
        print(f"{name:<16}{took:>9.0f}{each:>10}{took / max(each, 1):>9.1f}", flush=True)
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
