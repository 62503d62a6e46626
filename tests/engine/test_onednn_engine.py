"""The oneDNN engine's wiring, on any machine: who computes what, given memory, forks, one pool; its kernels where the library is."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from engine_cases import Draw, conv, differs, matmul, numpy_body
from rushlight.base.dtypes import bfloat16
from rushlight.runtime.cpu import engine_native, engine_onednn
from rushlight.runtime.cpu.onednn import kernels
from rushlight.runtime.cpu.onednn.library import OneDnn, find

try:
    ctypes.CDLL("libgomp.so.1")
    BEHIND = engine_native.load()
except (OSError, ImportError):
    pytest.skip("needs libgomp and the native engine", allow_module_level=True)


class FakeLibrary:
    """As much of `OneDnn` as the engine and the checks of its kernels touch."""

    def __init__(self) -> None:
        self.usable, self.picky, self.has_bfloat16, self.watching = True, False, False, False
        self.given: Any = None

    @contextmanager
    def lending(self, array: Any) -> Any:
        self.given = array
        yield
        self.given = None

    def lent(self, shape: tuple, dtype: Any) -> Any:
        return self.given if self.given is not None and self.given.shape == shape else None

    def conversions(self) -> list:
        return [("NCHW to NHWC", 1, 0.5, 8)]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[engine_onednn.OnednnEngine]:
    def mm(lib: Any, x: Any, y: Any) -> Any:
        if not lib.usable or len(x) < 3:
            return NotImplemented
        out = kernels._empty(lib, (len(x), y.shape[1]), False, x.dtype)
        out[...] = 7
        return out

    monkeypatch.setitem(engine_onednn.KERNELS, "mm", mm)
    monkeypatch.setattr(engine_onednn, "PRODUCTS", frozenset())  # this one is oneDNN's
    engine = engine_onednn.OnednnEngine(FakeLibrary(), BEHIND)  # type: ignore[arg-type]
    yield engine
    engine.stop()


def _never(*arrays: Any, **attrs: Any) -> Any:
    raise AssertionError


X = np.random.RandomState(0).rand(4, 4).astype("f")


def test_what_it_refuses_goes_to_the_native_engine(fake: engine_onednn.OnednnEngine) -> None:
    mm = fake.kernel("mm", _never)
    assert (mm(X, X) == 7).all()
    assert np.allclose(mm(X[:2], X), X[:2] @ X)
    assert np.allclose(fake.kernel("relu", _never)(X - 0.5), np.maximum(X - 0.5, 0))
    assert fake.kernel("no such kernel", _never) is None
    assert fake.library.picky  # the native engine stands behind


def test_results_in_given_memory(fake: engine_onednn.OnednnEngine) -> None:
    out, small = np.zeros((4, 4), "f"), np.zeros((2, 4), "f")
    assert fake.into("mm", _never, (out,))(X, X) is None and (out == 7).all()
    fake.into("mm", _never, (small,))(X[:2], X)
    assert np.allclose(small, X[:2] @ X)
    fake.into("relu", _never, (out,))(X - 0.5)
    assert np.allclose(out, np.maximum(X - 0.5, 0))
    fake.behind = None
    fake.into("mm", np.matmul, (small,))(X[:2], X + 1)
    assert np.allclose(small, X[:2] @ (X + 1))


def test_products_of_float32_do_not_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setitem(engine_onednn.KERNELS, "mm", lambda lib, x, y: asked.append(x) or x)
    engine = engine_onednn.OnednnEngine(FakeLibrary(), BEHIND)  # type: ignore[arg-type]
    out = np.zeros((4, 4), "f")
    assert np.allclose(engine.kernel("mm", _never)(X, X), X @ X)  # type: ignore[misc]
    engine.into("mm", _never, (out,))(X, X)  # type: ignore[misc]
    assert np.allclose(out, X @ X) and not asked
    wide = X.astype("d")
    assert engine.kernel("mm", _never)(wide, wide) is wide and len(asked) == 1  # type: ignore[misc]
    engine.stop()


def test_a_forked_child_computes_without_openmp(fake: engine_onednn.OnednnEngine) -> None:
    fake._forked()
    assert np.allclose(fake.kernel("mm", _never)(X, X), X @ X)


def test_the_native_engine_works_on_its_threads(fake: engine_onednn.OnednnEngine) -> None:
    x = np.random.RandomState(0).rand(300, 300).astype("f")
    before = BEHIND.library.get_threads()
    try:
        fake.set_threads(3)
        assert not fake.shared
        fake.kernel("mm", _never)(X, X)
        assert fake.shared  # from its first result on
        assert np.allclose(fake.kernel("mm_nt", _never)(x, x), x @ x.T, rtol=1e-4)
    finally:
        fake.stop()
        fake.set_threads(before)
    assert not fake.shared


def test_conversions_of_both(fake: engine_onednn.OnednnEngine) -> None:
    fake.watch(True)
    how = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    image, weight = np.ones((1, 1, 8, 8), "f"), np.ones((1, 1, 3, 3), "f")
    BEHIND.kernel("conv", _never)(image, weight, None, **how)
    names = [row[0] for row in fake.conversions()]
    fake.watch(False)
    assert "NCHW to NHWC" in names and "image padded" in names


def test_only_what_it_does_better() -> None:
    """With the native engine behind: float32 convolutions of many channels, and bfloat16."""
    lib: Any = FakeLibrary()
    lib.picky = lib.has_bfloat16 = True
    how = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}

    def asked(c: int, dtype: Any) -> bool:
        x, w = np.ones((8, c, 32, 32), dtype), np.ones((32, c, 3, 3), dtype)
        try:
            kernels._check_work(lib, x, (8, 32, 30, 30), w.shape, how)
        except kernels.OneDnnRefused:
            return False
        return True

    assert asked(32, np.float32) and not asked(3, np.float32)
    assert asked(3, kernels._BFLOAT)
    assert kernels.KERNELS["linear"](lib, np.ones((99, 999), "f"), np.ones((99, 999), "f"), None) is (NotImplemented)
    assert kernels.KERNELS["mm"](lib, np.ones((99, 99)), np.ones((99, 99))) is NotImplemented


def test_lending_is_for_one_call() -> None:
    lib = OneDnn.__new__(OneDnn)
    lib._lent = threading.local()
    a = np.zeros((2, 3), "f")
    with lib.lending(a):
        assert lib.lent((2, 3), a.dtype) is a
        assert lib.lent((3, 2), a.dtype) is None and lib.lent((2, 3), np.float64) is None
    assert lib.lent((2, 3), a.dtype) is None


@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_kernels_of_the_library_beside_numpy(half: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems too, which are otherwise left to others."""
    try:
        lib = OneDnn(find())
    except OSError as error:
        pytest.skip(f"no oneDNN here: {error}")
    if half and not lib.has_bfloat16:
        pytest.skip("this processor has no bfloat16")
    monkeypatch.setattr(kernels, "_SMALLEST", 0)
    ran = set()
    for seed in range(40):
        for name, arrays, attrs, tolerance in [*conv(Draw(seed)), *matmul(Draw(seed))]:
            if half:
                arrays = tuple([a if a is None else a.astype(bfloat16.np, order="K") for a in arrays])
            out = kernels.KERNELS[name](lib, *arrays, **attrs) if name in kernels.KERNELS else NotImplemented
            if out is not NotImplemented:
                ran.add(name)
                assert not differs(out, numpy_body(name)(*arrays, **attrs), 0.03 if half else tolerance), (seed, name)
    assert ran == set(kernels.KERNELS)
