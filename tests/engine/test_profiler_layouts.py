"""The profiler shows the conversions of memory layout that CPU kernels make, as rows of their own."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.runtime.cpu import conversions, engine

needs_native = pytest.mark.skipif(engine.engine_info().name != "native", reason="the native engine is not in use")


def _profiled(x: rl.Tensor, **how: int) -> dict[str, rl.profiler.FunctionEventAvg]:
    """The rows of one convolution and its gradients."""
    layer = nn.Conv2d(3, 8, 5, **how)
    x.requires_grad_()
    with rl.profiler.profile() as p:
        layer(x).sum().backward()
    return {r.key: r for r in p.key_averages()}


@needs_native
def test_a_plain_convolution_converts_only_what_it_must() -> None:
    rows = _profiled(rl.randn(4, 3, 20, 20))
    assert rows["aten::convolution: weight packed"].count == 1
    assert rows["aten::convolution_backward: weight packed"].count == 1
    assert rows["aten::convolution_backward: image padded"].count == 4
    assert rows["aten::convolution_backward: gradient packed"].count == 4
    assert not any("NHWC" in key or key == "aten::convolution: image padded" for key in rows)


@needs_native
def test_padding_channels_last_and_gaps_show() -> None:
    rows = _profiled(rl.randn(4, 3, 20, 20), padding=2)
    padded = rows["aten::convolution: image padded"]
    assert padded.count == 4 and padded.cpu_memory_usage == 4 * 3 * 24 * 24 * 4 and padded.cpu_time_total > 0
    rows = _profiled(rl.randn(4, 3, 20, 20).to(memory_format=rl.channels_last))
    assert rows["aten::convolution: NHWC to NCHW"].count == 4 and rows["aten::convolution: NCHW to NHWC"].count == 1
    rows = _profiled(rl.randn(4, 3, 40, 40)[:, :, ::2, ::2])
    assert rows["aten::convolution: strides to contiguous"].count == 1
    rows = _profiled(rl.randn(4, 3, 20, 20), stride=2)
    assert rows["aten::convolution_backward: phases merged"].count == 4


@needs_native
def test_conversions_are_part_of_their_kernel() -> None:
    with rl.profiler.profile() as p:
        nn.Conv2d(3, 8, 5, padding=2)(rl.randn(4, 3, 20, 20))
    rows = p.key_averages()
    outer = sum(r.self_cpu_time_total for r in rows if not r.inside)
    assert any(r.inside for r in rows) and rows.self_cpu_time_total == outer
    table = rows.table()
    assert "Self CPU time total: " in table and "aten::convolution: image padded" in table


@needs_native
def test_nothing_is_counted_without_a_profiler() -> None:
    layer, x = nn.Conv2d(3, 8, 5, padding=2), rl.randn(4, 3, 20, 20)
    with conversions.watching():
        layer(x)
        assert conversions.take()
    layer(x)
    assert conversions.take() == []


def test_every_engine_can_be_profiled() -> None:
    before = engine.settings.cpu_engine
    try:
        engine.use("numpy")
        with rl.profiler.profile() as p:
            out = nn.Conv2d(3, 8, 5, padding=2)(rl.randn(4, 3, 20, 20))
        assert "aten::convolution" in {r.key for r in p.key_averages()}
        assert np.isfinite(out.detach().numpy()).all()
    finally:
        engine.use(before)


@needs_native
def test_conversions_belong_to_the_thread_that_called() -> None:
    """A network at work beside it does not show in a profile."""
    layer, x = nn.Conv2d(3, 8, 5, padding=2), rl.randn(8, 3, 40, 40)
    stop, started = threading.Event(), threading.Event()

    def work() -> None:
        while not stop.is_set():
            layer(x)
            started.set()

    beside = threading.Thread(target=work)
    beside.start()
    try:
        assert started.wait(600)
        for _ in range(20):
            with rl.profiler.profile() as p:
                rl.ones(4) * 2  # noqa: B018
            assert not any(r.inside for r in p.key_averages())
        with rl.profiler.profile() as p:
            layer(rl.randn(4, 3, 20, 20))
        assert {r.key: r.count for r in p.key_averages()}["aten::convolution: image padded"] == 4
    finally:
        stop.set()
        beside.join()
