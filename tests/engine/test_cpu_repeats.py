"""Calls of CPU kernels that are written down, and made again without Python: on other numbers, by another thread."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rushlight.nn  # noqa: F401 - kernels of layers
from engine_cases import FAMILIES, Draw
from rushlight.runtime.cpu import threads

try:
    from rushlight.runtime.cpu import _native
except ImportError:
    _native = None

pytestmark = pytest.mark.skipif(_native is None, reason="the native engine was not built")
TURNS = 3  # calls behind the first


class Refused(Exception):
    """A native kernel left the work to NumPy."""


def refuse(*arrays: Any, **attrs: Any) -> Any:
    raise Refused


@pytest.fixture(autouse=True)
def usual_threads() -> Iterator[None]:
    yield
    _native.set_wake_cost(12000.0)
    threads.apply()


def other_numbers(a: Any, seed: int) -> None:
    """Change an array where it lies: floats to others, whole numbers among each other."""
    if not isinstance(a, np.ndarray) or not a.flags.writeable or not a.size:
        return
    draw = np.random.RandomState(seed)
    if a.dtype == np.float32:
        a[...] = draw.randn(*a.shape)
    elif a.dtype.kind in "iub":
        a[...] = draw.permutation(a.reshape(-1)).reshape(a.shape)


def bits(arrays: Any) -> list[bytes]:
    return [np.ascontiguousarray(a).tobytes() for a in arrays]


def plain(name: str, arrays: Any, attrs: dict[str, Any]) -> tuple | None:
    """What the kernel gives; None where NumPy does it."""
    try:
        out = _native.kernel(name, refuse)(*arrays, **attrs)
    except Refused:
        return None
    return out if isinstance(out, tuple) else (out,)


def room_for(results: tuple) -> tuple | None:
    """Arrays that lie as the results do, with other numbers in them."""
    if not 0 < len(results) <= 4 or not all(type(a) is np.ndarray for a in results):
        return None
    outs = tuple([np.empty_like(a, order="K") for a in results])
    for a in outs:
        a.view(np.uint8).fill(0xAB) if a.ndim and a.flags.c_contiguous else a.fill(7)
    return outs if all(a.strides == b.strides for a, b in zip(outs, results)) else None


@pytest.mark.parametrize("count", [1, 3], ids="threads={}".format)
@pytest.mark.parametrize("family", FAMILIES)
def test_other_numbers(family: str, count: int) -> None:
    """What was written down of a call gives the bits of a plain one, whatever the numbers are."""
    _native.set_threads(count)
    _native.set_wake_cost(0.0)
    for seed in range(12):
        for name, arrays, attrs, _ in list(FAMILIES[family](Draw(7000 * count + seed))):
            first = plain(name, arrays, attrs)
            outs = None if first is None else room_for(first)
            if outs is None or any(
                np.may_share_memory(o, a) for o in outs for a in arrays if isinstance(a, np.ndarray)
            ):
                continue
            sequence = _native.sequence([(_native.into(name, refuse, outs), tuple(arrays), dict(attrs))])
            what = f"{name} of {[getattr(a, 'shape', a) for a in arrays]} with {attrs}, seed {seed}"
            sequence()
            if sequence.states() == ["never"]:
                continue
            assert bits(outs) == bits(first), what
            for turn in range(TURNS):
                for i, a in enumerate(arrays):
                    other_numbers(a, 100 * seed + 10 * turn + i)
                want = plain(name, arrays, attrs)
                if want is None:
                    break
                sequence()
                assert bits(outs) == bits(want), f"{what}: turn {turn}"
                assert sequence.states() == ["proved"], f"{what}: what was written down gave other bits"


def chain(n: int = 30, size: int = 64) -> tuple[Any, np.ndarray, list[np.ndarray]]:
    """A sequence of products, each of the result of the one before."""
    draw = np.random.RandomState(0)
    x, w = draw.randn(size, size).astype(np.float32), draw.randn(size, size).astype(np.float32) / 8
    values, calls = [x], []
    for _ in range(n):
        out = np.empty((size, size), np.float32)
        calls.append((_native.into("mm", refuse, (out,)), (values[-1], w), {}))
        values.append(out)
    return _native.sequence(calls), x, values


def test_another_thread_makes_the_first_calls() -> None:
    sequence, x, values = chain()
    assert sequence.begin(10) == 0  # nothing is known of them yet
    for _ in range(3):
        x *= 1.1
        sequence()
    want = values[-1].copy()
    for upto in (1, 10, 30, 99):
        for out in values[1:]:
            out.fill(0)
        assert sequence.begin(upto) == 30
        end = time.monotonic() + 600
        while not values[min(upto, 30)].any() and time.monotonic() < end:
            time.sleep(0.001)
        assert values[min(upto, 30)].any()
        if upto < 30:
            assert not values[upto + 1].any()
        sequence()
        assert bits([values[-1]]) == bits([want])


def test_it_goes_on_as_far_as_it_is_told_and_stops() -> None:
    sequence, _, values = chain()
    for _ in range(3):
        sequence()
    want = bits(values)
    for turn in range(200):
        for out in values[1:]:
            out.fill(0)
        sequence.begin(1 + turn % 7)
        sequence.more(turn % 40)
        made = sequence.stop()
        assert 0 <= made <= max(1 + turn % 7, turn % 40)
        assert not any(v.any() for v in values[made + 1 :])
        sequence.begin(turn % 30)
        sequence()
        assert bits(values) == want


def test_it_works_for_one_at_a_time() -> None:
    (one, _, values), (other, _, _) = chain(), chain()
    for _ in range(3):
        one()
        other()
    want = bits(values)
    assert one.begin(5) == 30
    assert other.begin(5) == 0
    assert other.stop() == 0
    one()
    assert bits(values) == want
    assert other.begin(5) == 30
    del other  # in the middle
    assert one.begin(30) == 30
    one.stop()


def test_a_value_that_asks_for_another_way() -> None:
    """A class out of bounds raises where its binding does; gradients of a pool whose places are none go to NumPy."""
    x, target = np.random.RandomState(0).randn(4, 3).astype(np.float32), np.array([0, 1, 2, 0])
    outs = np.zeros((), np.float32), np.zeros((4, 2), np.float32)
    attrs = {"reduction": "mean", "ignore_index": -100, "wide": True}
    into = _native.into("cross_entropy_fused", refuse, outs)
    sequence = _native.sequence([(into, (x, target), attrs)])
    for _ in range(4):
        sequence()
    assert sequence.states() == ["proved"]
    target[2] = 7
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        sequence()
    sequence.begin(1)  # in the other thread it is left alone
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        sequence()
    target[2] = -100
    sequence()
    assert outs[0] == plain("cross_entropy_fused", (x, target), attrs)[0]


def test_a_function_that_leaves_its_calls_to_a_kernel() -> None:
    """As oneDNN's do for what it refuses: from then on the kernel stands in its place."""
    x, out = np.arange(6.0, dtype=np.float32), np.zeros(6, np.float32)
    into = _native.into("neg", refuse, (out,))
    seen = []

    class First:
        instead: Any = None

        def __call__(self, *arrays: Any) -> None:
            seen.append(1)
            into(*arrays)
            if len(seen) == 1:
                self.instead = into

    sequence = _native.sequence([(First(), (x,), {}), (seen.append, (2,), {})])
    assert sequence.states() == ["later", "later"]
    for turn in range(5):
        x += 1
        sequence()
        assert (out == -x).all(), turn
    assert sequence.states() == ["proved", "never"]
    assert seen == [1, 2, 2, 2, 2, 2]


def test_memory_that_moved_is_looked_up_again() -> None:
    x = np.arange(6.0, dtype=np.float32)
    out = np.zeros(6, np.float32)
    sequence = _native.sequence([(_native.into("neg", refuse, (out,)), (x,), {})])
    for _ in range(3):
        sequence()
    x.resize(6000, refcheck=False)
    x.resize(6, refcheck=False)
    x[:] = 5
    sequence()
    assert (out == -5).all()


def test_another_number_of_threads() -> None:
    """Sums are cut otherwise then, and have other bits."""
    x = np.random.RandomState(0).randn(100_003).astype(np.float32)
    out = np.zeros((), np.float32)
    attrs = {"dim": None, "keepdim": False}
    sequence = _native.sequence([(_native.into("sum", refuse, (out,)), (x,), attrs)])
    _native.set_wake_cost(0.0)
    for count in (1, 3, 2, 1):
        _native.set_threads(count)
        for _ in range(3):
            sequence()
            assert bits([out]) == bits(plain("sum", (x,), attrs) or ())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_makes_what_was_begun() -> None:
    sequence, _, values = chain(200)
    for _ in range(3):
        sequence()
    want = bits(values)
    for _ in range(10):
        for out in values[1:]:
            out.fill(0)
        sequence.begin(200)
        child = os.fork()
        if child == 0:
            sequence()
            same = bits(values) == want
            again = sequence.begin(200) == 200
            sequence()
            os._exit(0 if same and again and bits(values) == want else 1)
        assert os.waitpid(child, 0)[1] == 0
        sequence()
        assert bits(values) == want


def test_a_finaliser_in_the_middle_of_a_call() -> None:
    """What somebody else computes in between goes neither into the memory of the call nor into its writing."""
    x, out = np.arange(6.0, dtype=np.float32), np.zeros(6, np.float32)
    other, seen = np.full(6, 3.0, np.float32), []

    def meanwhile(a: np.ndarray) -> np.ndarray:
        seen.append(_native.kernel("neg", refuse)(other))
        assert seen[-1] is not out
        return a * 2

    # float64 is refused by the kernel, so that Python runs while the results' memory is lent
    wide = x.astype(np.float64)
    sequence = _native.sequence([(_native.into("neg", meanwhile, (out,)), (wide,), {})])
    for _ in range(3):
        wide += 1
        sequence()
        assert (out == wide * 2).all() and (seen[-1] == -3).all()
    assert sequence.states() == ["never"]
