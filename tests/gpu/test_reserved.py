"""Arrays of a GPU that have an address and no memory until somebody needs it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import rushlight as rl
from rushlight.core.hot import meeting

needs_gpu = pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")


@needs_gpu
def test_memory_comes_when_it_is_asked_for_and_goes_with_the_array_on_cuda() -> None:
    from cupy.cuda import runtime

    from rushlight.runtime.cuda.memory import reserved

    rl.ones(3, device="cuda")
    assert reserved.can_reserve()

    def taken(begin: int) -> int:
        return begin - runtime.memGetInfo()[0]

    # Others use the GPU, too, and may take or give back at any moment: one of some tries is not disturbed.
    for _ in range(8):
        free = runtime.memGetInfo()[0]
        a = reserved.reserved((1 << 28,), np.dtype(np.float32), (4,), 1 << 30)
        without = taken(free)
        reserved.back(a[5:])
        reserved.back(a)
        a[:] = 3
        assert float(a[1 << 20 :: 1 << 20].sum()) == 3 * 255
        backed = taken(free)
        del a
        gc.collect()
        if without < 1 << 29 <= backed and taken(free) < 1 << 29:
            return
    pytest.fail("memory did not come and go")


@needs_gpu
def test_small_arrays_lie_one_behind_the_other_on_cuda() -> None:
    from rushlight.runtime.cuda.memory import reserved

    rl.ones(3, device="cuda")
    chunks, kind = reserved.Chunks(), np.dtype(np.float32)
    made = [chunks.array((n,), kind, (4,), 4 * n) for n in (3, 1000, 400_000, 200_000, 5)]
    starts = [a.data.ptr for a in made]
    assert starts[1] == starts[0] + 512 and starts[2] == starts[1] + 4096
    assert made[3].data.mem.ptr != made[0].data.mem.ptr  # the first chunk was full
    for i, a in enumerate(made):
        reserved.back(a)
        a[...] = i
    assert [float(a.min()) for a in made] == [float(a.max()) for a in made] == [0, 1, 2, 3, 4]


@needs_gpu
@pytest.mark.parametrize("width", [24, 512])
@pytest.mark.parametrize("look", ["never", "sometimes", "kept"])
def test_a_traced_loop_of_arrays_without_memory_on_cuda(look: str, width: int) -> None:
    """Activations of 4 MiB each, or small ones: nobody sees them, or somebody does in the middle, or holds them to the end."""

    def losses(traced: bool) -> list[object]:
        rl.manual_seed(0)
        net = rl.nn.Sequential(*[rl.nn.Sequential(rl.nn.Linear(width, width), rl.nn.Tanh()) for _ in range(12)]).to(
            "cuda"
        )
        opt = rl.optim.SGD(net.parameters(), lr=0.1)
        x = rl.randn(4 * width, width).to("cuda")
        told: list[object] = []
        kept = []
        meeting.barred, meeting.timed = None, False  # replayed, whether that pays or not
        rl.tracing(traced)
        for i in range(30):
            opt.zero_grad()
            middle = net[:6](x)
            if look == "sometimes" and i % 9 == 8:
                told.append(middle[3, :5].tolist())
            if look == "kept":
                kept.append(middle.detach())
            loss = (net[6:](middle) ** 2).mean()
            loss.backward()
            opt.step()
            told.append(loss.item())
        report = getattr(rl.core.hot.here.tracer, "report", None)
        assert not traced or sum(r["replayed"] for r in report.loops) > 3
        rl.tracing(False)
        return [told, [k.sum().item() for k in kept], net[0][0].weight.sum().item()]

    assert losses(True) == losses(False)


@needs_gpu
def test_memory_that_dies_during_a_capture_is_given_back_after_it_on_cuda() -> None:
    """To give it back waits for the GPU, which would end the capture; a collection may come at any allocation."""
    import cupy

    from rushlight.runtime.cuda.code.held import holding
    from rushlight.runtime.cuda.memory import reserved
    from rushlight.runtime.cuda.memory.early import Early

    rl.ones(3, device="cuda")
    kind, relaxed = np.dtype(np.float32), 2
    a = reserved.reserved((1 << 20,), kind, (4,), 1 << 22)
    reserved.back(a)
    early = Early(cupy.ones((), kind))
    result = cupy.zeros(3, kind)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.runtime.deviceSynchronize()
    with holding():
        assert not gc.isenabled()
        stream.begin_capture(relaxed)
        del a, early
        with stream:
            cupy.cuda.runtime.memsetAsync(result.data.ptr, 255, result.nbytes, stream.ptr)
        graph = stream.end_capture()
    assert gc.isenabled()
    graph.launch(stream)
    stream.synchronize()
    assert np.isnan(result.get()).all()
