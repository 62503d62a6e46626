"""Prepared launches found by the arrays of a call (code/keyed.py), in C and in Python, without a GPU."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

cupy = pytest.importorskip("cupy")
launch = pytest.importorskip("rushlight.runtime.cuda.code.launch")
from rushlight.runtime.cuda.code import keyed as module  # noqa: E402

BLOCK = ctypes.create_string_buffer(1 << 16)


def array(shape: tuple, dtype: Any = np.float32, strides: tuple | None = None) -> Any:
    """An array of the GPU's type over memory of the host; nobody reads it."""
    memory = cupy.cuda.UnownedMemory(ctypes.addressof(BLOCK), len(BLOCK), BLOCK, 0)
    return cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0), strides)


class Seen:
    """A body and what prepares its launches, with their calls counted."""

    def __init__(self, answer: Any = "launched") -> None:
        self.prepared, self.bodies, self.answer = [], 0, answer

    def body(self, *operands: Any, **attrs: Any) -> str:
        self.bodies += 1
        return "body"

    def prepare(self, *operands: Any, **attrs: Any) -> Any:
        self.prepared.append((operands, attrs))
        return None if self.answer is None else lambda *arrays: self.answer


@pytest.fixture(params=["c", "python"])
def keyed(request, monkeypatch):
    monkeypatch.setattr(module.runtime, "getDeviceCount", lambda: 1)  # there may be no driver
    if request.param == "python":
        monkeypatch.setattr(module, "_native", None)
    elif launch._native is None:
        pytest.skip("the extension was not built")
    return module.keyed


def test_a_kind_of_call_is_prepared_once(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    x, y = array((2, 3)), array((2, 3))
    assert [call(x), call(y), call(x)] == ["launched"] * 3
    assert len(seen.prepared) == 1 and seen.bodies == 0
    others = (array((3, 2)), array((2, 3), np.float16), array((2, 3), strides=(4, 8)), array((6,)))
    for other in others:
        assert call(other) == "launched"
    assert len(seen.prepared) == 5
    call(x, y)
    assert len(seen.prepared) == 6


def test_attributes_are_told_apart(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    x, a, b = array((4,)), object(), object()
    call(x, to=a), call(x, to=b), call(x, to=a), call(x, of=a)
    assert [attrs for _, attrs in seen.prepared] == [{"to": a}, {"to": b}, {"of": a}]


def test_texts_are_told_apart_by_what_they_say(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    x = array((4,))
    for _ in range(2):
        call(x, mode="".join(["bi", "linear"])), call(x, mode="nearest")
    assert [attrs["mode"] for _, attrs in seen.prepared] == ["bilinear", "nearest"]


def test_tuples_are_told_apart_by_what_they_hold(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    x, kind = array((4,)), object()
    for _ in range(2):
        for size in ([1, 2], [2, 1], [(1, 2)], [1, (2,)], [1.0, 2], [kind], []):
            assert call(x, size=tuple(size)) == "launched"
    assert len(seen.prepared) == 7 and seen.bodies == 0


def test_a_call_without_arrays_is_found_by_its_attributes(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare, SimpleNamespace(in_place=None, offers=[]))
    assert [call(size=(n,)) for n in (3, 4, 3)] == ["launched"] * 3
    assert len(seen.prepared) == 2


def test_what_is_not_prepared_goes_to_the_body(keyed):
    seen = Seen(answer=None)
    call = keyed(seen.body, seen.prepare)
    x = array((4,))
    assert [call(x), call(x)] == ["body"] * 2 and len(seen.prepared) == 1
    seen = Seen(answer=NotImplemented)  # this launch cannot take these arrays
    call = keyed(seen.body, seen.prepare)
    assert call(x) == "body" and seen.bodies == 1
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    assert call(x, 2.0) == "body" and not seen.prepared  # a number beside it


def test_an_operand_that_is_written_in_place_goes_to_the_body(keyed):
    seen = Seen()
    x, y = array((4,)), array((4,))
    here = SimpleNamespace(in_place=x, offers=[x])
    call = keyed(seen.body, seen.prepare, here)
    assert call(x, y) == "body" and call(y, x) == "launched"


def test_an_error_while_preparing_is_raised(keyed):
    def prepare(*arrays: Any) -> Any:
        raise ValueError("no such kernel")

    call = keyed(lambda *arrays: None, prepare)
    with pytest.raises(ValueError, match="no such kernel"):
        call(array((4,)))


def test_no_more_kinds_are_kept_than_the_bound(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    for _ in range(2):  # a loop whose sizes fall by one finds them again
        for n in range(1, 700):
            assert call(array((n,))) == "launched"
    assert len(seen.prepared) == 699
    for n in range(700, module._MOST + 100):
        call(array((n,)))
    if hasattr(call, "__len__"):
        assert len(call) <= module._MOST


def test_arrays_that_begin_anywhere_are_kinds_of_their_own(keyed):
    seen = Seen()
    call = keyed(seen.body, seen.prepare)
    x = array((8,))
    for _ in range(2):
        for operands in ((x[4:],), (x[1:5],), (x[4:], x[1:5])):
            assert call(*operands) == "launched"
    assert len(seen.prepared) == 3


@pytest.mark.skipif(launch._native is None, reason="the extension was not built")
def test_the_gauge_counts_and_tries_again_in_python():
    asked: list[str] = []

    def malloc(size: int) -> str:
        if size > 1000:
            raise MemoryError
        return f"{size} bytes"

    def measure(gauge: Any) -> None:
        asked.append("measured")
        gauge.peak = gauge.bound

    gauge = launch._native.Gauge(malloc, measure, lambda size: f"again {size}")
    assert gauge(100) == "100 bytes" and gauge.bound == gauge.peak == 512
    assert gauge(1) == "1 bytes" and gauge.bound == 1024 and len(asked) == 2
    gauge.peak = 1 << 40
    assert gauge(600) == "600 bytes" and gauge.bound == 2048 and len(asked) == 2
    assert gauge(2000) == "again 2000" and gauge.bound == 2048
    with pytest.raises(TypeError):
        gauge("many")
