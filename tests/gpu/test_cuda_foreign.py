"""Kernels of somebody else on a GPU (CuPy's RawKernel, Triton): eager, compiled and traced they see and change the same memory.

`tests/loops/test_loops_reads.py` has the same scenes with ctypes and NumPy on the CPU.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import rushlight as rl
from traced import both

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="needs a GPU")

TWICE = r"""
extern "C" __global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void put(float* x, int at, float value) { x[at] = value; }
"""
WAYS = pytest.mark.parametrize("way", ["data_ptr", "storage", "interface", "dlpack"])


def _array(t: Any, way: str) -> Any:
    """The tensor's memory as an array of CuPy's."""
    import cupy

    if way == "interface":
        return cupy.asarray(t)
    if way == "dlpack":
        return cupy.from_dlpack(t)
    address = t.data_ptr() if way == "data_ptr" else t.untyped_storage().data_ptr()
    memory = cupy.cuda.UnownedMemory(address, 4 * t.numel(), t)
    return cupy.ndarray(tuple(t.shape), cupy.float32, cupy.cuda.MemoryPointer(memory, 0))


def _stream(stream: Any) -> Any:
    """The stream as CuPy's: by the protocol, or by its address in versions that do not know it."""
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream)


def _launch(name: str, *args: Any) -> None:
    import cupy

    kernel = cupy.RawModule(code=TWICE).get_function(name)
    with _stream(rl.cuda.current_stream()):
        kernel((8,) if name == "twice" else (1,), (128,) if name == "twice" else (1,), args)


def _twice(t: Any, way: str) -> Any:
    import cupy

    out = rl.empty_like(t)
    _launch("twice", _array(t, way), _array(out, way), cupy.int32(t.numel()))
    return out


def _put(array: Any, value: float) -> None:
    import cupy

    _launch("put", array, cupy.int32(1), cupy.float32(value))


@WAYS
@pytest.mark.filterwarnings("ignore:.*compile")
def test_a_foreign_kernel_in_a_compiled_function(way: str) -> None:
    def step(x: Any) -> Any:
        h = x * 3 + 1
        return _twice(h, way) + h.sum()

    compiled = rl.compile(step)
    for i in range(12):
        x = rl.arange(600.0, device="cuda") + i
        assert compiled(x).tolist() == step(x).tolist(), i


@WAYS
def test_a_foreign_kernel_in_a_loop(way: str) -> None:
    def program() -> Any:
        weight, seen = rl.ones(600, device="cuda"), []
        batches = [rl.randn(600, device="cuda") for _ in range(30)]
        for i, x in enumerate(batches):
            h = x * weight + 1
            before = (weight * 3).tanh()
            _put(_array(weight, way), i / 10)
            seen.append((_twice(h, way) + before * weight + h.sum()).sum().item())
        return seen, weight

    both(program, replays=0)


@WAYS
@pytest.mark.parametrize("taken", ["before", "early"])
def test_memory_is_written_in_a_later_stretch(way: str, taken: str) -> None:
    def program() -> Any:
        weight, seen = rl.ones(600, device="cuda"), []
        batches = [rl.randn(600, device="cuda") for _ in range(40)]
        array = _array(weight, way) if taken == "before" else None
        for i, x in enumerate(batches):
            if i == 12 and array is None:
                array = _array(weight, way)
            h = x * weight + 1
            before = (weight * 3).tanh()
            if i > 24 and i % 3 == 0:
                _put(array, i / 10)
            seen.append((before * weight + h.sum() + (weight * 2).exp().sum()).sum().item())
        return seen, weight

    both(program, replays=0)


@WAYS
def test_memory_shows_what_a_later_stretch_writes(way: str) -> None:
    def program() -> Any:
        weight, seen = rl.ones(600, device="cuda"), []
        batches = [rl.randn(600, device="cuda") for _ in range(40)]
        array = _array(weight, way)
        for i, x in enumerate(batches):
            weight.mul_(0.5).add_(x)
            weight.sub_(weight.mean())
            if i > 24 and i % 3 == 0:
                copy = rl.zeros(600, device="cuda")
                import cupy

                _launch("twice", array, _array(copy, way), cupy.int32(600))
                seen.append(copy.sum().item())
            seen.append((weight * 2).sum().item())
        return seen, weight

    both(program, replays=0)


TRITON = """
import torch
import triton
import triton.language as tl
import rushlight

@triton.jit
def twice(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def doubled(t):
    out = torch.empty_like(t)
    twice[(triton.cdiv(t.numel(), 256),)](t, out, t.numel(), BLOCK=256)
    return out

tuned = triton.autotune([triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})], key=["n"])(twice)

@torch.library.triton_op("tests::twice", mutates_args={})
def registered(t: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(t)
    torch.library.wrap_triton(tuned)[lambda meta: (triton.cdiv(t.numel(), meta["BLOCK"]),)](t, out, t.numel())
    return out

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return doubled(t)

    @staticmethod
    def backward(ctx, g):
        return registered(g.contiguous())

def trained_through(net):
    w = torch.ones(600, device="cuda", requires_grad=True)
    for i in range(8):
        loss = net(w * (torch.arange(600.0, device="cuda") + i) / 600).tanh().sum()
        loss.backward()
    return w.grad.tolist()

assert registered(torch.ones(3, device="meta")).shape == (3,)
for n in (3, 600):  # autotune measures at the first call of a size
    assert torch.ops.tests.twice(torch.ones(n, device="cuda")).tolist() == [2.0] * n
assert trained_through(torch.compile(lambda t: Doubled.apply(t))) == trained_through(Doubled.apply) == trained_through(lambda t: 2 * t)

def step(x):
    h = x * 3 + 1
    return doubled(h) + h.sum()

def trained(weight):
    torch.manual_seed(0)
    seen = []
    for i in range(30):
        x = torch.randn(600, device="cuda")
        h = doubled(x * weight + 1).tanh()
        weight.add_(h, alpha=0.1)
        doubled(weight)
        seen.append((weight * h).sum().item())
    return seen

compiled = torch.compile(step)
for i in range(12):
    x = torch.arange(600.0, device="cuda") + i
    assert compiled(x).tolist() == step(x).tolist(), ("compiled", i)
whole = torch.compile(lambda x: registered(x * 3 + 1) + x.sum())
for i in range(12):
    x = torch.arange(600.0, device="cuda") + i
    assert whole(x).tolist() == (2 * (x * 3 + 1) + x.sum()).tolist(), ("operator", i)
rushlight.tracing(False)
eager = trained(torch.ones(600, device="cuda"))
rushlight.tracing(True)
assert trained(torch.ones(600, device="cuda")) == eager, "traced"
print("agree")
"""


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
def test_triton_compiled_and_traced(tmp_path: Path) -> None:
    """In a process of its own: for Triton `torch` has to be this library."""
    script = tmp_path / "script.py"
    script.write_text(TRITON)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "rushlight", "run", str(script)], capture_output=True, text=True
    )
    assert run.stdout.endswith("agree\n"), run.stdout + run.stderr
