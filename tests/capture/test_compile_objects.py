"""Compiled functions that are given, and return, objects of the user's classes: batches, caches, outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest

import rushlight as torch
from rushlight import nn

pytestmark = pytest.mark.filterwarnings("ignore:compile")  # those that run eagerly say so


@dataclass
class Batch:
    x: Any
    y: Any
    scale: int = 2
    more: list[Any] = field(default_factory=list)


class Cache:
    """Memory that calls write into, and how far it is filled."""

    def __init__(self, n: int) -> None:
        self.keys, self.length, self.parts = torch.zeros(n, 3), torch.tensor(0), [Part(torch.zeros(3))]

    def update(self, x: Any) -> Any:
        self.keys.index_copy_(0, self.length.reshape(1), x)
        self.length.add_(1)
        self.parts[0].total.add_(x[0])
        return self.keys


class Mode(Enum):
    ADD = 1
    TAKE = 2


class Part:
    def __init__(self, total: Any) -> None:
        self.total = total


class Output:
    def __init__(self, loss: Any, logits: Any, info: Any) -> None:
        self.loss, self.logits, self.info = loss, logits, info


def _x(i: int) -> Any:
    return torch.arange(6.0).reshape(2, 3) * (i + 1)


def _replays(fn: Any) -> int:
    return sum(r.runs for r in fn.replays)


def test_a_batch_may_be_a_new_object_each_time() -> None:
    def fn(b: Batch) -> Any:
        return (b.x * b.scale + b.more[0]).sum() if b.y is None else b.x - b.y

    compiled = torch.compile(fn)
    for i in range(9):
        for b in (Batch(_x(i), _x(1)), Batch(_x(i), None, 3, [_x(2)])):
            assert compiled(b).tolist() == fn(b).tolist()
    assert _replays(compiled) >= 8
    b = Batch(_x(5), None, 7, [_x(2)])  # what it holds is part of what is compared
    assert compiled(b).tolist() == fn(b).tolist()


def test_what_it_holds_is_written() -> None:
    def fn(cache: Cache, x: Any) -> Any:
        return cache.update(x) @ cache.parts[0].total

    compiled = torch.compile(fn)
    for _ in range(4):  # as many generations, each with a cache of its own
        one, other = Cache(4), Cache(4)
        for i in range(4):
            x = _x(i)[:1]
            assert compiled(one, x).tolist() == fn(other, x).tolist()
        assert one.keys.tolist() == other.keys.tolist() and int(one.length) == 4
        assert one.parts[0].total.tolist() == other.parts[0].total.tolist()
    assert _replays(compiled) >= 8


def test_one_object_twice_is_not_two_that_are_equal() -> None:
    def fn(a: Batch, b: Batch) -> Any:
        return a.x + 1 if a is b else a.x * b.x

    compiled = torch.compile(fn)
    for i in range(9):
        one, other = Batch(_x(i), 0), Batch(_x(i), 0)
        for given in ((one, one), (one, other)):
            assert compiled(*given).tolist() == fn(*given).tolist()


def test_an_object_that_the_function_keeps_stays_that_one() -> None:
    kept: list[Any] = []

    def fn(b: Batch) -> Any:
        return b.x * (2 if any(b is k for k in kept) else 3)

    compiled = torch.compile(fn)
    for i in range(12):
        b = Batch(_x(i), 0)
        if i % 4 == 3:
            kept[:] = [b]
        assert compiled(b).tolist() == fn(b).tolist()


def test_what_stands_for_itself_may_be_among_what_it_holds() -> None:
    def fn(b: Batch) -> Any:
        return b.x + 1 if b.y is Mode.ADD else b.x - 1

    compiled = torch.compile(fn)
    for i in range(12):
        b = Batch(_x(i), (Mode.ADD, Mode.TAKE)[i % 2], more=[Mode])
        assert compiled(b).tolist() == fn(b).tolist()
    assert _replays(compiled) >= 4


def test_its_class_may_change() -> None:
    class Scaled(Batch):
        factor = 2

        def read(self) -> Any:
            return self.x * self.factor * getattr(self, "".join(("fac", "tor")))

    compiled = torch.compile(lambda b: b.read())
    for i in range(8):
        if i == 6:
            Scaled.factor = 5
        if i == 7:
            Scaled.read = lambda self: self.x - 1  # type: ignore[method-assign]
        b = Scaled(_x(i), 0)
        assert compiled(b).tolist() == b.read().tolist()


def test_an_attribute_that_the_call_sets_is_set() -> None:
    def fn(b: Batch) -> Any:
        b.y = b.x * 2
        return b

    compiled = torch.compile(fn)
    for i in range(8):
        b = Batch(_x(i), 0)
        assert compiled(b) is b and b.y.tolist() == (_x(i) * 2).tolist()


@pytest.mark.parametrize("kind", [Output, SimpleNamespace])
def test_a_new_object_is_returned(kind: Any) -> None:
    net = nn.Linear(3, 2)

    def fn(x: Any) -> Any:
        y = net(x)
        found = Output(y.square().mean(), y, {"inner": Batch(y + 1, [y * 2])})
        return found if kind is Output else SimpleNamespace(**vars(found))

    compiled, seen = torch.compile(fn), []
    for i in range(8):
        out, want = compiled(_x(i)), fn(_x(i))
        seen.append(out)
        assert type(out) is type(want) and list(vars(out)) == list(vars(want))
        assert out.logits.tolist() == want.logits.tolist()
        assert out.info["inner"].y[0].tolist() == want.info["inner"].y[0].tolist()
        for o in (out, want):
            net.zero_grad()
            o.loss.backward()
            o.info = net.weight.grad.tolist()
        assert out.info == want.info
    assert len({id(o) for o in seen}) == 8
    assert kind is SimpleNamespace or _replays(compiled) >= 4


def test_an_object_that_was_there_is_returned_itself() -> None:
    kept = Output(1, 2, 3)
    made: list[Any] = []

    def one(x: Any) -> Any:
        return kept, x + 1

    def first(x: Any) -> Any:
        if not made:
            made.append(Output(1, 2, 3))
        return made[0], x + 1

    for fn, want in ((one, lambda: kept), (first, lambda: made[0])):
        compiled = torch.compile(fn)
        for i in range(6):
            assert compiled(_x(i))[0] is want()


@pytest.mark.parametrize("error", [NotImplementedError, KeyError, IndexError, Exception])
def test_a_handler_of_other_errors_is_passed_by(error: type[Exception]) -> None:
    """What the kernel refuses comes to the caller, or to the handler, as without a program."""

    def none_of_it(x: Any, at: Any) -> Any:
        try:
            x.add_(1)
            return x[at * 1]
        except NotImplementedError:
            return x

    def key(x: Any, at: Any) -> Any:
        try:
            x.add_(1)
            return x[at * 1]
        except KeyError:
            return x

    def index(x: Any, at: Any) -> Any:
        try:
            x.add_(1)
            return x[at * 1]
        except IndexError:
            return x * 0

    def everything(x: Any, at: Any) -> Any:
        try:
            x.add_(1)
            return x[at * 1]
        except Exception:  # noqa: BLE001
            return x * 0

    names = {NotImplementedError: none_of_it, KeyError: key, IndexError: index, Exception: everything}
    fn = names[error]
    is_caught = issubclass(IndexError, error)
    compiled = torch.compile(fn)
    for i in range(6):
        assert compiled(_x(i), torch.tensor([1])).tolist() == fn(_x(i), torch.tensor([1])).tolist()
    assert (_replays(compiled) > 0) is not is_caught
    for _ in range(2):
        x = _x(1)
        if is_caught:
            assert compiled(x, torch.tensor([5])).tolist() == [[0.0] * 3] * 2
        else:
            with pytest.raises(IndexError):
                compiled(x, torch.tensor([5]))
        assert x.tolist() == (_x(1) + 1).tolist()


def test_what_the_first_calls_alone_do_is_no_reason_for_ever() -> None:
    import logging

    logger, told = logging.getLogger("rushlight.tests"), []

    def fn(x: Any) -> Any:
        if len(told) < 2:
            told.append(1)
            logger.debug("told twice, %s", logger.handlers)
        return x * 2

    compiled = torch.compile(fn)
    for i in range(16):
        assert compiled(_x(i)).tolist() == (_x(i) * 2).tolist()
    assert _replays(compiled)
