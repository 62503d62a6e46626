"""What an iteration of a loop costs the host where the device is a GPU, eager and traced, without a GPU; or on the CPU.

    PYTHONPATH=src python tools/loop_path.py lab [--traced] [--iterations 300] [--profile 40] [--calls]
    PYTHONPATH=src python tools/loop_path.py lab --traced --device cpu      programs compute nothing, eager kernels do
    PYTHONPATH=src valgrind --tool=callgrind --instr-atstart=no python tools/loop_path.py lab --traced --count

Loops are plain ones: `lab` (the lab's network with two `.to(device)`), `loader` (the same with its loader),
`dezero` (step 52), `gpt` (a small GPT under autocast). Everything below the backend is replaced as in
tools/host_path.py; CUDA graphs are captured and launched as nothing at all, so that what is left is the host's.
`--count` counts instructions under callgrind, which is the same whatever else the machine does; `--calls` counts
functions of Python that are entered. `lab`, `loader` and `gpt` have `--device cpu`, too.
"""

from __future__ import annotations

import argparse
import cProfile
import ctypes
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("RUSHLIGHT_TRACE", "0")

import host_path

_SWITCHES = """
#include <valgrind/callgrind.h>
void start(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void stop(const char *name) { CALLGRIND_DUMP_STATS_AT(name); }
void toggle(void) { CALLGRIND_TOGGLE_COLLECT; }
"""


class Stream:
    """A stream whose captures are empty graphs."""

    captures = False
    numbers = 0

    def __init__(self, non_blocking: bool = False, priority: Any = None, ptr: int = -1) -> None:
        Stream.numbers += ptr < 0
        self.ptr = Stream.numbers if ptr < 0 else ptr

    def use(self) -> None:
        now[0] = self

    def is_capturing(self) -> bool:
        return Stream.captures

    def synchronize(self) -> None:
        pass

    def begin_capture(self, mode: int) -> None:
        Stream.captures = True

    def end_capture(self) -> Any:
        Stream.captures = False
        return SimpleNamespace(graphExec=0)

    def record(self, event: Any) -> Any:
        return event

    def wait_event(self, event: Any) -> None:
        pass


class Event:
    """A mark in a stream, passed at once."""

    done = True

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass


now = [Stream(ptr=0)]


def at(part: str) -> None:
    """A part of an iteration begins; with `--parts`, instructions are counted in one part after the other."""
    if part == marks[0] or marks[1]:
        marks[1] = not marks[1]
        marks[2].toggle()


marks: list[Any] = ["", False, None]
where = ["cuda"]  # the device of the loops


class Pool(host_path.Pool):
    """Memory of its own for each array, taken again when its array is gone."""

    def malloc(self, size: int) -> Any:
        rounded = size + 511 & ~511
        free = self.blocks.setdefault(rounded, [])
        block = free.pop() if free else ctypes.create_string_buffer(rounded + 512)
        start = ctypes.addressof(block) + 511 & ~511
        return self.pointer(self.memory(start, rounded, Held(block, free), 0), 0)


class Held:
    """Gives a block back when its memory is let go."""

    __slots__ = ("block", "free")

    def __init__(self, block: Any, free: list[Any]) -> None:
        self.block, self.free = block, free

    def __del__(self) -> None:
        self.free.append(self.block)


class Arena:
    """A pool whose blocks stay where they are as long as it lives."""

    def __init__(self) -> None:
        self.blocks: list[Any] = []

    def malloc(self, size: int) -> Any:
        import cupy

        self.blocks.append(cupy.get_default_memory_pool().malloc(size))
        return self.blocks[-1]

    def total_bytes(self) -> int:
        return sum([b.mem.size for b in self.blocks])


def install() -> None:
    """Put nothing in the place of the GPU, graphs included."""
    import cupy
    from cupy.cuda import runtime

    host_path.Pool = Pool  # type: ignore[misc]
    host_path.no_driver()
    cupy.cuda.Stream, cupy.cuda.Event = Stream, Event
    cupy.cuda.alloc_pinned_memory = bytearray
    cupy.cuda.get_current_stream = lambda index=0: now[0]
    cupy.cuda.MemoryPool = Arena
    runtime.memcpyAsync = host_path.count  # values are nobody's here
    runtime.streamEndCapture = lambda stream: setattr(Stream, "captures", False)
    runtime.graphDestroy = lambda graph: None
    runtime.graphLaunch = lambda graph, stream: None

    class Using:
        def __init__(self, allocator: Any) -> None:
            self.allocator = allocator

        def __enter__(self) -> None:
            self.before = cupy.cuda.get_allocator()
            cupy.cuda.set_allocator(self.allocator)

        def __exit__(self, *error: object) -> None:
            cupy.cuda.set_allocator(self.before)

    cupy.cuda.using_allocator = Using
    from rushlight.base.device import device
    from rushlight.runtime import devices

    devices.backend_of(device("cuda"))
    host_path.no_libraries()
    host_path.no_generic()
    from rushlight.capture.lower import cuda as lowering
    from rushlight.runtime.cuda.bodies import update
    from rushlight.runtime.cuda.memory import streams

    streams.Event = Event
    lowering.try_kernels = lambda program: None  # which compares values
    update._Live.refresh = _refresh  # type: ignore[method-assign]


def install_on_cpu() -> None:
    """Let programs compute nothing, where their results lie in memory of their own."""
    import rushlight
    from rushlight.capture.lower.cpu import CpuReplay

    rushlight.set_num_threads(1)
    where[0], made = "cpu", CpuReplay._function

    def empty(self: Any, parameter: str, results: list[str]) -> Any:
        if all(name.startswith("s") for name in results):
            self.lines = []
        return made(self, parameter, results)

    CpuReplay._function = empty  # type: ignore[method-assign]


def _refresh(self: Any) -> None:
    """As it is, but for the copy."""
    sent = self.host.tobytes()
    if sent != self.sent:
        self.sent = sent


# -- loops ----------------------------------------------------------------------------------------


def net() -> Any:
    """The lab's network, as its script writes it."""
    import rushlight as torch
    from rushlight import nn
    from rushlight.nn import functional as F

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 6, 5)
            self.pool = nn.MaxPool2d(2, 2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.pool(F.relu(self.conv1(x)))
            x = self.pool(F.relu(self.conv2(x)))
            x = x.view(-1, 16 * 5 * 5)
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return self.fc3(x)

    return Net()


def lab(loader: bool) -> Callable[[int], Any]:
    """The lab's training loop."""
    import rushlight as torch
    from rushlight import nn, optim
    from rushlight.data import DataLoader, TensorDataset

    device = torch.device(f"{where[0]}:0" if where[0] == "cuda" else where[0])
    model, criterion = net().to(device), nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    data = TensorDataset(torch.randn(4000, 3, 32, 32), torch.randint(0, 10, (4000,)))
    batches = DataLoader(data, batch_size=4, shuffle=True)
    ready = list(DataLoader(data, batch_size=4))[:100]

    def loop(n: int) -> None:
        running_loss, done = 0.0, 0
        while True:
            for _i, batch in enumerate(batches if loader else ready, 0):
                at("to")
                inputs, labels = batch[0].to(device), batch[1].to(device)
                at("zero_grad")
                optimizer.zero_grad()
                at("forward")
                outputs = model(inputs)
                at("criterion")
                loss = criterion(outputs, labels)
                at("backward")
                loss.backward()
                at("step")
                optimizer.step()
                at("item")
                running_loss += loss.item()
                at("rest")
                done += 1
                if done == n:
                    return

    return loop


def book() -> Callable[[int], Any]:
    """Step 52 of the DeZero book."""
    import numpy as np

    import rushlight.dezero as dezero
    import rushlight.dezero.functions as F
    from rushlight.dezero import DataLoader, datasets, optimizers
    from rushlight.dezero.models import MLP

    dezero.cuda.gpu_enable = True
    train_set = object.__new__(datasets.MNIST)  # without files
    train_set.transform = train_set.target_transform = datasets._as_it_is
    train_set.data = np.zeros((60000, 784), np.float32)  # CuPy cannot transform anything here
    train_set.label = np.arange(60000) % 10
    train_set.seen = False
    train_loader = DataLoader(train_set, 100)
    model = MLP((1000, 10))
    optimizer = optimizers.SGD().setup(model)
    model(np.zeros((1, 784), np.float32))  # weights are made here, without CuPy's random numbers
    train_loader.to_gpu()
    model.to_gpu()

    def loop(n: int) -> None:
        sum_loss, done = 0.0, 0
        while True:
            for x, t in train_loader:
                at("forward")
                y = model(x)
                at("criterion")
                loss = F.softmax_cross_entropy(y, t)
                at("zero_grad")
                model.cleargrads()
                at("backward")
                loss.backward()
                at("step")
                optimizer.update()
                at("item")
                # CuPy's float() would ask the driver
                sum_loss += ctypes.c_float.from_address(loss.data.data.ptr).value * len(t)
                at("rest")
                done += 1
                if done == n:
                    return

    return loop


def gpt() -> Callable[[int], Any]:
    """A small GPT under autocast."""
    import rushlight as torch
    from rushlight import nn
    from rushlight.nn import functional as F

    width, heads, length, words, layers = 64, 4, 32, 65, 4

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            b, t, c = x.shape
            q, k, v = self.qkv(self.ln1(x)).split(c, dim=2)
            q, k, v = [a.view(b, t, heads, c // heads).transpose(1, 2) for a in (q, k, v)]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(b, t, c))
            return x + self.down(F.gelu(self.up(self.ln2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            h = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                h = block(h)
            logits = self.head(self.ln(h))
            return F.cross_entropy(logits.view(-1, words), y.view(-1))

    model = GPT().to(where[0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(0, words, (8, length + 1))

    def loop(n: int) -> None:
        total = 0.0
        for _ in range(n):
            at("to")
            x, y = data[:, :-1].contiguous().to(where[0]), data[:, 1:].contiguous().to(where[0])
            at("zero_grad")
            optimizer.zero_grad(set_to_none=True)
            at("forward")
            with torch.autocast(where[0], dtype=torch.bfloat16, enabled=where[0] == "cuda"):
                loss = model(x, y)
            at("backward")
            loss.backward()
            at("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            at("step")
            optimizer.step()
            at("item")
            total += loss.item()
            at("rest")

    return loop


PARTS = ("to", "zero_grad", "forward", "criterion", "backward", "clip", "step", "item", "rest")
LOOPS: dict[str, Callable[[], Callable[[int], Any]]] = {
    "lab": lambda: lab(False),
    "loader": lambda: lab(True),
    "dezero": book,
    "gpt": gpt,
}


# -- counting -------------------------------------------------------------------------------------


def switches() -> Any:
    """Callgrind's switches, as functions."""
    folder = Path(tempfile.mkdtemp(prefix="loop-path-"))
    source, made = folder / "switches.c", folder / "switches.so"
    source.write_text(_SWITCHES)
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", made, source], check=True)
    return ctypes.CDLL(str(made))


def calls(loop: Callable[[int], Any], n: int) -> None:
    """Functions of Python entered in an iteration."""
    found: Counter[str] = Counter()

    def told(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            code = frame.f_code
            name = code.co_filename.partition("rushlight/")[2] or Path(code.co_filename).name
            found[f"{name}:{code.co_firstlineno} {code.co_name}"] += 1

    sys.setprofile(told)
    loop(n)
    sys.setprofile(None)
    for name, times in found.most_common():
        if times >= n // 2:
            print(f"{times / n:8.2f}  {name}")
    print(f"{sum(found.values()) / n:8.1f}  in all")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("loop", choices=list(LOOPS))
    parser.add_argument("--traced", action="store_true")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--before", type=int, default=60)
    parser.add_argument("--profile", type=int, default=0, metavar="LINES")
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--count", action="store_true", help="instructions, under callgrind")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    args = parser.parse_args()
    install() if args.device == "cuda" else install_on_cpu()
    import rushlight
    from rushlight.base.config import settings
    from rushlight.core import hot
    from rushlight.runtime.thread import here

    loop = LOOPS[args.loop]()
    hot.meeting.timed, settings.trace = False, ""
    rushlight.tracing(args.traced)
    loop(args.before)
    n = args.iterations
    if args.calls:
        calls(loop, n)
    elif args.count:
        native = marks[2] = switches()
        native.start()
        loop(n)
        native.stop(b"all")
        native.toggle()
        for part in PARTS:
            marks[0] = part
            loop(n)
            if marks[1]:
                at("")
            native.stop(part.encode())
    elif args.profile:
        profile = cProfile.Profile()
        profile.enable()
        loop(n)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(args.profile)
    else:
        best = float("inf")
        for _ in range(5):
            begin = time.process_time()
            loop(n)
            best = min(best, (time.process_time() - begin) / n)
        print(f"{args.loop} {'traced' if args.traced else 'eager'}: {best * 1e6:.0f} us")
    report = getattr(getattr(here.tracer, "tracer", here.tracer), "report", None)
    if report is not None:
        for row in report.loops:
            print({k: row[k] for k in row if k not in ("path",)}, file=sys.stderr)
        for (why, line), times in report.fallbacks.items():
            print(f"fell back {times} times: {why}, {line}", file=sys.stderr)
        tracer = getattr(here.tracer, "tracer", here.tracer)
        for place in tracer.places.values():
            print(place.name, place.seen, place.why or "", file=sys.stderr)


if __name__ == "__main__":
    main()
