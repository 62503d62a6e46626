"""Names for NVIDIA's tools: PyTorch's errors without a GPU, and CuPy's functions with one."""

from __future__ import annotations

import sys
import types

import pytest

import rushlight
from rushlight.cuda import nvtx, profiler

CALLS = {
    "push": lambda t: t.cuda.nvtx.range_push("a"),
    "pop": lambda t: t.cuda.nvtx.range_pop(),
    "mark": lambda t: t.cuda.nvtx.mark("a"),
    "start": lambda t: t.cuda.profiler.start(),
}


@pytest.mark.skipif(rushlight.cuda.is_available(), reason="says what happens without a GPU")
@pytest.mark.parametrize("name", CALLS)
def test_without_a_gpu_the_errors_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    if torch.version.cuda is not None:
        pytest.skip("this PyTorch is built for GPUs, and fails in the driver instead")
    errors = []
    for t in (rushlight, torch):
        with pytest.raises((RuntimeError, AssertionError)) as caught:
            CALLS[name](t)
        errors.append((caught.type, str(caught.value)))
    assert errors[0] == errors[1]


def test_with_a_gpu_cupy_is_called(monkeypatch):
    said = []
    tool = types.SimpleNamespace(
        RangePush=lambda m: said.append(f"push {m}"), RangePop=lambda: said.append("pop"),
        Mark=lambda m: said.append(f"mark {m}"), RangeStart=lambda m: 7, RangeEnd=lambda i: said.append(f"end {i}"),
        start=lambda: said.append("start"), stop=lambda: said.append("stop"),
    )  # fmt: skip
    fake = types.ModuleType("cupy.cuda")
    fake.nvtx = fake.profiler = tool
    monkeypatch.setitem(sys.modules, "cupy.cuda", fake)
    for module in (nvtx, profiler):
        monkeypatch.setattr(module, "is_available", lambda: True)
    with nvtx.range("step {}", 3):
        nvtx.mark("here")
    nvtx.range_end(nvtx.range_start("loading"))
    with profiler.profile():
        pass
    assert said == ["push step 3", "mark here", "pop", "end 7", "start", "stop"]
