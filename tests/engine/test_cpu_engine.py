"""The native CPU engine against the NumPy bodies: values, layouts, threads, forks, switching."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn
import rushlight.optim
from engine_cases import FAMILIES, Draw, differs, numpy_body
from engine_late_cases import AARCH64
from rushlight.base.config import settings
from rushlight.runtime.cpu import engine, threads
from rushlight.runtime.cpu.engine import engine_info

try:
    from rushlight.runtime.cpu import _native
except ImportError:
    _native = None

needs_native = pytest.mark.skipif(_native is None, reason="the native engine was not built")
KEPT = {
    "sgd_update",
    "adam_update",
    "rmsprop_update",
    "adagrad_update",
    "copy_into",
    "fill_into",
    "index_put_into",
    "running_statistics",
}  # kernels that write into their arguments


class Refused(Exception):
    """A native kernel left the work to NumPy."""


def _refuse(*arrays, **attrs):
    raise Refused


@pytest.fixture
def native_threads():
    """Whatever a test sets, the next one starts from the default."""
    yield
    _native.set_wake_cost(12000.0)
    threads.apply()


def _poison(like: Any) -> None:
    """Leave NaN in the memory that results of this size will get, so that what is not written shows."""
    for a in like if isinstance(like, tuple) else (like,):
        size = max(np.asarray(a).nbytes // 4, 1)
        for _ in [np.full(size, np.nan, np.float32) for _ in range(8)]:
            pass


@needs_native
@pytest.mark.parametrize("count", [1, 2, 3], ids="threads={}".format)
@pytest.mark.parametrize("family", FAMILIES)
def test_same_as_numpy(family: str, count: int, native_threads: None) -> None:
    _native.set_threads(count)
    _native.set_wake_cost(0.0)  # even the smallest work is shared out
    ran, refused = set(), set()
    for seed in range(40):
        for name, arrays, attrs, tolerance in FAMILIES[family](Draw(1000 * count + seed)):
            again = [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
            with np.errstate(all="ignore"):
                truth = numpy_body(name)(*(again if name in KEPT else arrays), **attrs)
            _poison(truth)
            try:
                out = _native.kernel(name, _refuse)(*arrays, **attrs)
            except Refused:
                refused.add(name)
                continue
            ran.add(name)
            if name in KEPT:
                out, truth = tuple(arrays), tuple(again)
            wrong = differs(out, truth, tolerance)
            shapes = [getattr(a, "shape", a) for a in arrays]
            assert not wrong, f"{name} of {shapes} with {attrs}, seed {seed}: {wrong}"
    assert not refused - ran, f"never computed: {refused - ran}"


@needs_native
def test_every_kernel_is_tested() -> None:
    drawn = {name for family in FAMILIES.values() for seed in range(8) for name, *_ in family(Draw(seed))}
    assert set(_native.names()) <= drawn


def test_bindings_ask_their_call_for_everything() -> None:
    """Refusals, references and memory are the call's business (call.h)."""
    found = Path(engine.__file__).parent.joinpath("native").glob("bind_*.c")
    assert [p.name for p in found if p.name != "bind_into.c" and "REFUSE" in p.read_text()] == []


@needs_native
def test_other_dtypes_go_to_numpy() -> None:
    x = np.ones((2, 3), np.float64)
    for name, arrays, attrs in (
        ("add", (x, x), {}),
        ("mm", (x, x.T), {}),
        ("relu", (x,), {}),
        ("softmax", (x,), {"dim": 1}),
        ("sum", (x.astype(np.int32),), {"dim": None, "keepdim": False}),
        ("relu", (x.astype(np.float16).T[::2],), {}),
        ("relu", (x.astype(">f4"),), {}),
    ):
        with pytest.raises(Refused):
            _native.kernel(name, _refuse)(*arrays, **attrs)


@needs_native
@pytest.mark.parametrize("half", [rl.float16, rl.bfloat16], ids=str)
def test_half_precision_is_float32_rounded_once(half: Any) -> None:
    """Every half precision number, and pairs of them, as the same kernel has them in float32."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    x, y = bits.view(half.np), np.random.RandomState(0).permutation(bits).view(half.np)
    wide = _native.kernel("cast", _refuse)(x, to=rl.float32, source=half)
    with np.errstate(all="ignore"):
        assert np.array_equal(wide, x.astype(np.float32), equal_nan=True)
        for name, arrays, attrs in (
            ("relu", (x,), {}),
            ("relu_grad", (x, y), {}),
            ("add", (x, y), {}),
            ("mul", (x, y), {}),
            ("div", (x, y), {}),
            ("mul", (x, 0.3), {}),
            ("silu", (x,), {}),
            ("gelu_grad", (x, y), {"approximate": "none"}),
            ("leaky_relu", (x,), {"slope": 0.01}),
        ):
            kernel = _native.kernel(name, _refuse)
            floats = [a if a.__class__ is float else a.astype(np.float32) for a in arrays]
            out, truth = kernel(*arrays, **attrs), kernel(*floats, **attrs).astype(half.np)
            assert out.dtype == truth.dtype
            same = (out == truth) | ((out != out) & (truth != truth))
            assert same.all(), (name, x[~same][:5], out[~same][:5], truth[~same][:5])


@needs_native
def test_exp_tanh_and_log_over_their_whole_range() -> None:
    x = np.concatenate([np.linspace(-110, 95, 200001), np.linspace(-1, 1, 50001)]).astype("f")
    with np.errstate(all="ignore"):
        for name, exact, most in (("exp", np.exp, 4), ("tanh", np.tanh, 2)):
            out = _native.kernel(name, _refuse)(x)
            truth = exact(x.astype(np.float64)).astype("f")
            spacing = np.maximum(np.spacing(np.abs(truth)), np.float32(1e-45))
            ulps = np.where(out == truth, 0, np.abs(out.astype("d") - truth) / spacing)
            assert ulps.max() <= most, (name, x[ulps.argmax()], ulps.max())
    x = np.concatenate([np.logspace(-45, 38, 100001), np.linspace(0.5, 2, 50001)]).astype("f")
    with np.errstate(all="ignore"):
        truth = np.log(x.astype("d")).astype("f")
    out = _native.kernel("log", _refuse)(x)
    assert (np.abs(out.astype("d") - truth) <= 2 * np.spacing(np.abs(truth))).all()
    ends = np.array([0.0, -0.0, 1.0, np.inf, -1.0, -np.inf, np.nan, -1e-45], "f")
    with np.errstate(all="ignore"):
        out, truth = _native.kernel("log", _refuse)(ends), np.log(ends)
    assert np.array_equal(out, truth, equal_nan=True)
    out = _native.kernel("tanh", _refuse)(ends)
    assert np.array_equal(out, np.tanh(ends), equal_nan=True)
    assert np.array_equal(np.signbit(out[:2]), [False, True])


@needs_native
def test_sum_is_as_exact_as_numpy() -> None:
    x = np.random.RandomState(0).rand(1_000_003).astype("f")
    exact = x.astype("d").sum()
    out = _native.kernel("sum", _refuse)(x, dim=None, keepdim=False)
    assert abs(float(out) - exact) / exact < 1e-6
    columns = np.random.RandomState(0).rand(100_000, 3).astype("f")
    out = _native.kernel("sum", _refuse)(columns, dim=(0,), keepdim=False)
    assert np.abs(out - columns.astype("d").sum(0)).max() / 5e4 < 3e-6


@needs_native
def test_class_out_of_bounds() -> None:
    with pytest.raises(IndexError, match=r"Target 7 is out of bounds\."):
        rl.nn.functional.cross_entropy(rl.zeros(2, 3), rl.tensor([0, 7]))


# -- memory ---------------------------------------------------------------------------------------


@needs_native
def test_large_arrays_are_reused() -> None:
    _native.drop_kept()
    x = np.ones((256, 1024), "f")
    relu = _native.kernel("relu", _refuse)
    first = relu(x)
    assert first.ctypes.data % 64 == 0
    assert first.base is None and first.flags.owndata and first.flags.writeable
    address = first.ctypes.data
    del first
    assert _native.kept_bytes() >= x.nbytes
    assert relu(x).ctypes.data == address
    _native.drop_kept()
    assert _native.kept_bytes() == 0


def _flags(a: np.ndarray) -> set[str]:
    """What the system was told of the memory in the middle of an array."""
    at, inside = a.ctypes.data + a.nbytes // 2, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, _, rest = line.partition(" ")
        if "-" in first:
            begin, end = (int(part, 16) for part in first.split("-"))
            inside = begin <= at < end
        elif inside and first == "VmFlags:":
            return set(rest.split())
    raise AssertionError(hex(at))


@needs_native
@pytest.mark.skipif(sys.platform != "linux", reason="pages of 2 MB are asked for on Linux")
def test_large_memory_is_asked_for_in_large_pages() -> None:
    if "hg" not in _flags(np.ones(1 << 23, np.float32)):
        pytest.skip("NumPy asks for none here")
    _native.drop_kept()
    assert "hg" in _flags((rl.ones(1 << 23) * 2).numpy())


@needs_native
def test_a_reused_array_can_be_resized_and_pickled() -> None:
    import pickle

    out = _native.kernel("relu", _refuse)(np.ones((256, 1024), "f"))
    again = pickle.loads(pickle.dumps(out))
    assert np.array_equal(again, out)
    out.resize((512, 1024), refcheck=False)
    assert out[0, 0] == 1 and out[511, 0] == 0


# -- threads --------------------------------------------------------------------------------------


@needs_native
def test_python_threads_may_compute_at_once(native_threads: None) -> None:
    _native.set_threads(3)
    _native.set_wake_cost(0.0)
    x = np.random.RandomState(0).rand(300, 300).astype("f")
    truth = x.astype("d") @ x  # NumPy's float32 product warns without a reason under qemu with SME
    wrong: list[float] = []

    def work() -> None:
        mm = _native.kernel("mm", _refuse)
        for _ in range(30):
            wrong.append(float(np.abs(mm(x, x) - truth).max()))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(wrong) == 120 and max(wrong) < 1e-3


@needs_native
def test_same_result_on_every_run(native_threads: None) -> None:
    """Who works on which share must not change the order of additions."""
    _native.set_threads(3)
    _native.set_wake_cost(0.0)
    x, g = rl.randn(8, 3, 12, 12)._a, rl.randn(8, 5, 10, 10)._a
    how = {"w_shape": (5, 3, 3, 3), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
    kernel = _native.kernel("conv_grad_weight", _refuse)
    first = kernel(g, x, groups=1, **how)
    for _ in range(20):
        assert np.array_equal(kernel(g, x, groups=1, **how), first)


_FORK = """
import os, sys
import numpy as np
from rushlight.runtime.cpu import _native
_native.set_threads(3)
_native.set_wake_cost(0.0)
x = np.random.RandomState(0).rand(200, 200).astype("f")
mm = _native.kernel("mm", None)
truth = mm(x, x)  # the pool is running now
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        ok = all(np.array_equal(mm(x, x), truth) for _ in range(5))
        os._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert np.array_equal(mm(x, x), truth)
print("fine")
"""


@needs_native
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork() -> None:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", _FORK], capture_output=True, text=True, timeout=600)
    assert run.stdout.strip() == "fine", run.stderr


_TEAM = """
import ctypes, os
import numpy as np
from rushlight.runtime.cpu import _native
try:
    openmp = ctypes.CDLL("libgomp.so.1")
except OSError:
    print("absent")
    raise SystemExit
_native.set_threads(2)
_native.set_wake_cost(0.0)
x = np.random.RandomState(0).rand(200, 200).astype("f")
mm = _native.kernel("mm", None)
truth = mm(x, x)
before = len(os.listdir("/proc/self/task"))
_native.set_team(ctypes.cast(openmp.GOMP_parallel, ctypes.c_void_p).value)
_native.set_threads(4)
assert np.allclose(mm(x, x), truth)
assert len(os.listdir("/proc/self/task")) == before + 3  # OpenMP's: none of ours was started
pid = os.fork()
if pid == 0:  # where OpenMP would wait for ever
    os._exit(0 if np.allclose(mm(x, x), truth) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
_native.set_team(0)
assert np.allclose(mm(x, x), truth)
print("fine")
"""


@needs_native
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads in /proc")
def test_threads_of_another_library() -> None:
    """With oneDNN in front there is one pool: the native kernels work on OpenMP's threads."""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", _TEAM], capture_output=True, text=True, timeout=600)
    if run.stdout.strip() == "absent":
        pytest.skip("no libgomp here")
    assert run.stdout.strip() == "fine", run.stderr


def test_set_num_threads() -> None:
    before = settings.num_threads
    try:
        rl.set_num_threads(3)
        assert rl.get_num_threads() == 3 == engine_info().threads
        if engine.active() is not None and engine.active().name == "native":
            assert _native.get_threads() == 3
    finally:
        settings.num_threads = before
        threads.apply(told=True)


def test_container_limits(tmp_path) -> None:
    assert threads.cgroup_quota(str(tmp_path)) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads.cgroup_quota(str(tmp_path)) == (150000, 100000)
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads.cgroup_quota(str(tmp_path)) is None
    (tmp_path / "cpu.max").unlink()
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("-1")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert threads.cgroup_quota(str(tmp_path)) is None
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("250000")
    assert threads.cgroup_quota(str(tmp_path)) == (250000, 100000)


# -- which engine ---------------------------------------------------------------------------------


@pytest.fixture
def any_engine():
    before = settings.cpu_engine
    yield
    engine.use(before)


def _trained() -> list[float]:
    """Losses of a small network, every family of kernels in it."""
    nn = rl.nn
    rl.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, stride=2, groups=2), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(8 * 9, 16), nn.LayerNorm(16), nn.Sigmoid(), nn.Linear(16, 5),
    )  # fmt: skip
    optimizer = rl.optim.Adam(net.parameters(), lr=0.01)
    x, y = rl.randn(4, 3, 30, 30), rl.randint(0, 5, (4,))
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@needs_native
def test_engines_agree(any_engine: None) -> None:
    engine.use("numpy")
    assert engine_info().name == "numpy" and engine.active() is None
    alone = _trained()
    engine.use("native")
    assert engine_info().name == "native"
    assert np.allclose(alone, _trained(), rtol=2e-4)


def test_unknown_engine(any_engine: None) -> None:
    with pytest.raises(ValueError, match="no CPU engine 'fast': choose one of auto, numpy"):
        engine.use("fast")


def test_environment_chooses_the_engine() -> None:
    code = "from rushlight.runtime.cpu.engine import engine_info; print(engine_info().name)"
    env = {**os.environ, "RUSHLIGHT_CPU_ENGINE": "numpy"}
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert run.stdout.strip() == "numpy", run.stderr


@needs_native
def test_channels_last_stays(any_engine: None) -> None:
    engine.use("native")
    last = rl.channels_last
    net = rl.nn.Conv2d(3, 4, 3, padding=1).to(memory_format=last)
    x = rl.randn(2, 3, 8, 8).contiguous(memory_format=last).requires_grad_()
    y = net(x)
    assert y.is_contiguous(memory_format=last)
    assert y.relu().is_contiguous(memory_format=last)
    y.sum().backward()
    plain = rl.nn.functional.conv2d(x.contiguous(), net.weight.contiguous(), net.bias, padding=1)
    assert rl.allclose(y, plain, atol=1e-5)


@needs_native
@pytest.mark.parametrize("rule", ["sgd", "adam"])
def test_a_momentum_that_has_decayed_is_zero(rule):
    """Numbers too small for a whole fraction take a hundred times as long, and would stay: 0.9 of the least one is the least one."""
    x = rl.ones(70).requires_grad_()
    make = rushlight.optim.SGD if rule == "sgd" else rushlight.optim.Adam
    optimizer = make([x], lr=0.5, **({"momentum": 0.5} if rule == "sgd" else {"betas": (0.5, 0.999)}))
    for step in range(200):
        x.grad = rl.full((70,), 0.0 if step else -1.0)
        optimizer.step()
        state = optimizer.state[x]["momentum_buffer" if rule == "sgd" else "exp_avg"].numpy()
        assert step > 120 or (np.abs(state) > 2.0**-124).all()
    assert (state == 0).all()


@needs_native
@pytest.mark.skipif(not AARCH64, reason="elsewhere they are NumPy's")
@pytest.mark.parametrize("name", "tan asin acos atan sinh cosh atanh exp2 log2 log10 erf".split())
def test_angles_are_within_a_unit_of_the_last_place(name: str) -> None:
    """Beside doubles, over the floats of every size that the function is defined for (erf: 2.4, as everywhere)."""
    x = np.linspace(0, 0x7F7FFFFF, 40_001).astype(np.int32).view(np.float32)
    within = {"asin": 1, "acos": 1, "atanh": 1, "sinh": 89, "cosh": 89, "exp2": 127, "tan": 8192}
    x = x[x < within.get(name, np.inf)]
    x = x if name.startswith("log") else np.concatenate([x, -x])
    truth = {
        "erf": np.vectorize(math.erf),
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "atanh": np.arctanh,
    }
    with np.errstate(all="ignore"):
        exact = truth.get(name, getattr(np, name, None))(x.astype(np.float64))
        close = exact.astype(np.float32)
        unit = np.spacing(np.abs(close)).astype(np.float64)
        off = np.abs(_native.kernel(name, _refuse)(x).astype(np.float64) - exact)[np.isfinite(close)]
    assert (off / unit[np.isfinite(close)]).max() < (2.4 if name == "erf" else 1.0)
