"""The device layer on a GPU: names, memory counters, running out, streams, pinned memory, copies."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rushlight as rl

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")


def test_the_notes_on_devices_hold() -> None:
    assert rl.cuda.device_count() >= 1
    assert rl.cuda.current_device() == 0
    assert isinstance(rl.cuda.get_device_name(0), str)
    x = rl.tensor([1.0, 2.0]).cuda(0)
    assert "device='cuda:0'" in repr(x)
    assert x.device == rl.device("cuda:0") and x.is_cuda and x.get_device() == 0
    assert (x + x).is_cuda and (x + 1).is_cuda and (2 * x).is_cuda
    with pytest.raises(RuntimeError, match="same device"):
        x + rl.ones(2)
    assert (x + rl.tensor(1.0)).is_cuda
    net = rl.nn.Linear(2, 2).cuda()
    assert net.weight.is_cuda and net(x).is_cuda
    assert x.cpu().device.type == "cpu" and x.to("cpu").tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        rl.ones(1, device=f"cuda:{rl.cuda.device_count()}")
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        x.numpy()


def test_creation_on_the_gpu() -> None:
    for made in (rl.zeros(3, device="cuda"), rl.ones(3, device="cuda"), rl.arange(3, device="cuda"),
                 rl.full((3,), 7, device="cuda"), rl.randn(3, device="cuda"),
                 rl.empty(3, device="cuda"), rl.tensor([1, 2, 3], device="cuda"),
                 rl.eye(3, device="cuda"), rl.linspace(0, 1, 3, device="cuda")):  # fmt: skip
        assert made.is_cuda
    assert rl.full((5,), -0.0, device="cuda").tolist() == [0.0] * 5
    assert rl.full((5,), 1 + 2j, device="cuda").tolist() == [1 + 2j] * 5
    assert rl.full((3, 3), 7, dtype=rl.int16, device="cuda").cpu().sum().item() == 63
    with rl.device("cuda"):
        assert rl.zeros(2).is_cuda


_COUNTS = """
import rushlight as rl
rl.ones(1, device="cuda")
rl.cuda.empty_cache()
before = rl.cuda.memory_allocated()
rl.cuda.reset_peak_memory_stats()
x = rl.empty(2**20, device="cuda")
assert rl.cuda.memory_allocated() - before == 2**22
y = rl.empty(2**21, device="cuda")
del y
assert rl.cuda.max_memory_allocated() - before == 2**22 + 2**23
assert rl.cuda.memory_reserved() >= rl.cuda.memory_allocated()
del x
assert rl.cuda.memory_allocated() == before
rl.cuda.empty_cache()
free, total = rl.cuda.mem_get_info()
assert 0 < free <= total and "allocated" in rl.cuda.memory_summary()
"""


def test_memory_is_counted() -> None:
    """In a process of its own: what earlier tests began in the background takes memory when it likes."""
    done = subprocess.run([sys.executable, "-c", _COUNTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_running_out_is_explained_and_survived() -> None:
    held = rl.zeros(1234, 1000, device="cuda")
    with pytest.raises(rl.cuda.OutOfMemoryError) as caught:
        rl.empty(2**44, device="cuda", dtype=rl.uint8)
    said = str(caught.value)
    assert "Tried to allocate 16384.00 GiB" in said and "[1234, 1000]" in said
    assert "smaller batch" in said
    assert (held + 1).sum().item() == 1234000


def test_streams_and_events() -> None:
    side = rl.cuda.Stream()
    begin, end = rl.cuda.Event(enable_timing=True), rl.cuda.Event(enable_timing=True)
    x = rl.ones(1000, 1000, device="cuda")
    side.wait_stream(rl.cuda.current_stream())
    with rl.cuda.stream(side):
        assert rl.cuda.current_stream() == side
        begin.record()
        y = x * 3
        end.record()
    assert rl.cuda.current_stream() == rl.cuda.default_stream()
    rl.cuda.current_stream().wait_stream(side)
    assert (y + 1).sum().item() == 4e6
    end.synchronize()
    assert end.query() and begin.elapsed_time(end) >= 0
    assert side.__cuda_stream__() == (0, side.cuda_stream)
    assert side._as_parameter_.value == side.cuda_stream


def test_memory_is_kept_for_another_stream() -> None:
    side = rl.cuda.Stream()
    for i in range(20):
        x = rl.full((2**20,), float(i), device="cuda")
        side.wait_stream(rl.cuda.current_stream())
        with rl.cuda.stream(side):
            total = x.sum()
        x.record_stream(side)
        del x
        rl.zeros(2**20, device="cuda")  # would take the same memory
        side.synchronize()
        assert total.item() == i * 2**20


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4, 5)])
def test_round_trips(dtype: str, shape: tuple) -> None:
    x = (rl.rand(shape) * 10).to(getattr(rl, dtype))
    for non_blocking in (False, True):
        up = x.to("cuda", non_blocking=non_blocking)
        assert up.dtype is x.dtype and up.shape == x.shape
        back = up.to("cpu", non_blocking=non_blocking)
        rl.cuda.synchronize()
        assert bool((back == x).all())


def test_round_trip_of_layouts() -> None:
    x = rl.randn(2, 3, 4, 5)
    for view in (x.permute(0, 2, 3, 1), x[:, ::2], x.flip(1)[..., ::2], x.expand(2, 3, 4, 5)):
        assert bool((view.cuda().cpu() == view).all())
        assert view.permute(3, 0, 1, 2).cuda().sum().isclose(view.sum().cuda()).item()
    last = x.contiguous(memory_format=rl.channels_last)
    assert last.cuda().is_contiguous(memory_format=rl.channels_last)
    assert (last.cuda() + 1).is_contiguous(memory_format=rl.channels_last)


def test_pinned_memory() -> None:
    x = rl.randn(1000)
    p = x.pin_memory()
    assert p.is_pinned() and not x.is_pinned()
    up = p.cuda(non_blocking=True)
    del p
    assert bool((up.cpu() == x).all())


def test_dlpack_and_interfaces() -> None:
    cupy = pytest.importorskip("cupy")
    x = rl.arange(6.0, device="cuda")
    assert cupy.from_dlpack(x).sum() == 15
    assert rl.from_dlpack(cupy.arange(3.0)).is_cuda
    assert x.__cuda_array_interface__["shape"] == (6,)


def test_saved_and_pickled_tensors_keep_their_device() -> None:
    import copy
    import pickle

    x = rl.randn(3, device="cuda", requires_grad=True)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.is_cuda and y.requires_grad and bool((y == x).all())


def test_large_and_misaligned(tmp_path: object) -> None:
    x = rl.arange(100_003, device="cuda", dtype=rl.float32)
    odd = x[1:]  # four bytes past an aligned address
    np.testing.assert_array_equal((odd * 2).cpu().numpy(), np.arange(1, 100_003, dtype="f4") * 2)
    np.testing.assert_array_equal((odd[:-1] + x[2:]).cpu().numpy(), 2 * np.arange(1, 100_002, dtype="f4") + 1)
    assert odd.max().item() == 100_002


def test_more_than_two_to_the_31() -> None:
    free, _ = rl.cuda.mem_get_info()
    if free < 12 * 2**30:
        pytest.skip("too little memory")
    n = 2**31 + 17
    x = rl.zeros(n, dtype=rl.int8, device="cuda")
    x[-1] = 5
    y = x + 1
    assert y[-1].item() == 6 and y[0].item() == 1
    assert y.sum().item() == n + 5
    assert x.argmax().item() == n - 1
    del x, y
    rl.cuda.empty_cache()


def test_a_state_of_random_numbers_lies_on_the_host_whatever_the_default_device_is() -> None:
    rl.set_default_device("cuda")
    try:
        state = rl.cuda.get_rng_state()
        first = rl.rand(3)
        rl.cuda.set_rng_state(state)
        assert state.is_cpu and rl.get_rng_state().is_cpu and rl.equal(first, rl.rand(3))
    finally:
        rl.set_default_device(None)
