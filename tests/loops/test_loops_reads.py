"""Values that are read past the door while they wait: whoever reads them there computes them first."""

from __future__ import annotations

import copy
import ctypes
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.operators.shape.windows import slice_op
from traced import both

N = 12


def _shape_of_a_wrong_index(t: Any) -> str:
    with pytest.raises(IndexError) as error:
        rl.zeros(6, 6)[(t[0] > 0), rl.tensor([0, 1, 2, 3, 4, 5, 0])]
    return str(error.value)


def _shape_of_a_wrong_value(t: Any) -> str:
    with pytest.raises(RuntimeError) as error:
        rl.zeros(4, 6)[t > 0] = rl.zeros(99)
    return str(error.value)


def _saved(t: Any) -> Any:
    file = io.BytesIO()
    rl.save(t.view(rl.int32), file)
    file.seek(0)
    return rl.load(file).view(rl.float32)


def _written_over_itself(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(t: Any) -> Any:
        own = t * 2
        write(own)
        return own

    return call


_TWO = rl.tensor([0, 1])
READS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda t: copy.deepcopy([t, {"a": t}]),
    "an index that does not fit": _shape_of_a_wrong_index,
    "a value that does not fit": _shape_of_a_wrong_value,
    "saved under another dtype": _saved,
    "moved to shared memory": lambda t: t.share_memory_().clone(),
    "rows over other rows": _written_over_itself(lambda t: t.__setitem__(_TWO, t[1:3].clone())),
    "an element over many": _written_over_itself(lambda t: t.__setitem__(t > 0, t[0, 0])),
    "rows added to rows": _written_over_itself(lambda t: t.index_put_((_TWO,), t[1:3].clone(), True)),
    "nothing but the shape": lambda t: tuple(t.to("meta").shape),
}


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("name", READS)
def test_what_waits_is_read(name: str, always: bool) -> None:
    """Each time, or twice in the middle of a stretch that is replayed otherwise."""

    def program() -> Any:
        told: list[Any] = []
        for i, x in enumerate([rl.randn(4, 6) for _ in range(N)]):
            out = (x * 2).tanh() + x.mean()
            if always or i in (8, 10):
                told.append(READS[name](out.detach()))
            told.append(out.pow(2).sum().item())
        return told

    both(program, replays=0 if always else 3)


def test_the_meta_device() -> None:
    """A loop with tensors on meta is left alone: there is nothing to compute, and no memory to hand out."""

    def program() -> Any:
        told: list[Any] = []
        for x in [rl.randn(4, 6) for _ in range(N)]:
            out = (x * 2).tanh() + x.mean()
            told.append((tuple(out.to("meta").shape), out.pow(2).sum().item()))
        return told

    both(program, replays=0)


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "narrow": lambda t, n: t.narrow(0, 0, n),
    "logit": lambda t, n: t.sigmoid().logit(eps=n * 0.1),
    "std": lambda t, n: t.std(0, correction=n),
    "a slice": lambda t, n: t[:n],
    "celu": lambda t, n: F.celu(t, n),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_tensors(name: str) -> None:
    """A number may be given as a tensor, and be read in the middle of a stretch; the same one has other values later."""

    def program() -> Any:
        told: list[Any] = []
        kept = rl.tensor(2)
        for i, x in enumerate([rl.randn(4, 6) for _ in range(N)]):
            out = (x * 2).tanh() + x.mean()
            told.append(NUMBERS[name](out, kept.fill_(1 + i % 3)).clone())
            number = (x.reshape(-1)[0] * 0 + 1 + i % 3).long()
            told.append(NUMBERS[name](out, number).clone())
            told.append(out.pow(2).sum().item())
        return told

    both(program, replays=0)


class Late:
    """A number that reads a tensor when it is asked for."""

    def __init__(self, t: Any) -> None:
        self.t = t

    def __index__(self) -> int:
        return int(self.t)


@pytest.mark.parametrize("late", [False, True])
def test_a_place_in_the_middle_of_a_kernel(late: bool) -> None:
    """What a kernel's own body reads ends the stretch that is being heard; the kernel goes on."""

    def program() -> Any:
        told: list[Any] = []
        for i, x in enumerate([rl.randn(4, 6) for _ in range(N)]):
            out = (x * 2).tanh() + x.mean()
            number = (x.reshape(-1)[0] * 0 + 1 + i % 3).long()
            stop = Late(number) if late else number
            told.append(slice_op(out, index=((0, stop, 1),)).clone())
            told.append(out.pow(2).sum().item())
        return told

    both(program, replays=0)


# -- kernels of somebody else: they are given an address, and no word is said when they read or write there


def _address(t: Any, way: str) -> int:
    if way == "storage":
        return t.untyped_storage().data_ptr()
    if way == "dlpack":
        return np.from_dlpack(t).__array_interface__["data"][0]
    return t.numpy().__array_interface__["data"][0] if way == "numpy" else t.data_ptr()


def _doubled_by_c(t: Any, way: str) -> Any:
    """A new tensor, made by functions that know nothing of tensors."""
    out = rl.empty_like(t)
    into, source, n = _address(out, way), _address(t, way), t.numel()
    ctypes.memmove(into, source, 4 * n)
    for i, value in enumerate((ctypes.c_float * n).from_address(into)):
        ctypes.c_float.from_address(into + 4 * i).value = 2 * value
    return out


@pytest.mark.parametrize("way", ["data_ptr", "storage", "dlpack", "numpy"])
@pytest.mark.parametrize("traced", [False, True])
def test_a_foreign_kernel_in_a_compiled_function(way: str, traced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rl.base.config.settings, "trace_on_cpu", traced)

    def step(x: Any) -> Any:
        h = x * 3 + 1
        return _doubled_by_c(h, way) + h.sum()

    compiled = rl.compile(step)
    with pytest.warns(UserWarning, match="compile"):
        for i in range(12):
            x = rl.arange(6.0) + i
            assert compiled(x).tolist() == step(x).tolist(), i
    assert not compiled.replays


@pytest.mark.parametrize("way", ["data_ptr", "storage", "dlpack", "numpy"])
def test_a_foreign_kernel_in_a_loop(way: str) -> None:
    def program() -> Any:
        weight, seen = rl.ones(6), []
        for i in range(24):
            h = (rl.arange(6.0) + i) * weight + 1
            address = _address(weight, way)
            before = (weight * 3).tanh()
            ctypes.c_float.from_address(address + 4).value = i / 10
            seen.append((_doubled_by_c(h, way) + before * weight + h.sum()).sum().item())
        return seen, weight

    both(program, replays=0)


@pytest.mark.parametrize("way", ["data_ptr", "storage", "dlpack", "numpy"])
@pytest.mark.parametrize("size", [6, 5000])
@pytest.mark.parametrize("taken", ["before", "early"])
def test_an_address_is_written_through_in_a_later_stretch(way: str, size: int, taken: str) -> None:
    """Taken once, before the loop or in an early iteration, and used in the middle of stretches that come long after."""

    def program() -> Any:
        weight, seen = rl.ones(size), []
        batches = [rl.randn(size) for _ in range(40)]
        address = _address(weight, way) if taken == "before" else 0
        for i, x in enumerate(batches):
            if i == 12 and not address:
                address = _address(weight, way)
            h = x * weight + 1
            before = (weight * 3).tanh()
            if i > 24 and i % 3 == 0:
                ctypes.c_float.from_address(address + 4).value = i / 10
            seen.append((before * weight + h.sum() + (weight * 2).exp().sum()).sum().item())
        return seen, weight

    both(program, replays=0)


@pytest.mark.parametrize("way", ["data_ptr", "storage", "dlpack", "numpy"])
def test_an_address_sees_what_a_later_stretch_writes(way: str) -> None:
    def program() -> Any:
        weight, seen = rl.ones(6), []
        batches = [rl.randn(6) for _ in range(40)]
        address = _address(weight, way)
        for i, x in enumerate(batches):
            weight.mul_(0.5).add_(x)
            weight.sub_(weight.mean())
            if i > 24 and i % 3 == 0:
                seen.append(ctypes.c_float.from_address(address + 4).value)
            seen.append((weight * 2).sum().item())
        return seen, weight

    both(program, replays=0)


@pytest.mark.parametrize("way", ["data_ptr", "storage", "dlpack", "numpy"])
@pytest.mark.parametrize("traced", [False, True])
def test_a_compiled_function_reads_memory_that_an_older_address_changes(
    way: str, traced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rl.base.config.settings, "trace_on_cpu", traced)
    weight = rl.ones(6)
    address = _address(weight, way)

    def step(x: Any) -> Any:
        return (x * weight + weight.tanh()).sum()

    compiled = rl.compile(step)
    for i in range(12):
        ctypes.c_float.from_address(address + 4).value = i / 10
        x = rl.arange(6.0) + i
        assert compiled(x).tolist() == step(x).tolist(), i
