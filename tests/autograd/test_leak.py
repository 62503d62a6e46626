"""Memory comes back without the garbage collector, and long chains end without recursion."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import rushlight as rl


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*shape: int) -> rl.Tensor:
    return rl.ones(*shape).requires_grad_()


def watch(x: rl.Tensor) -> Any:
    return weakref.ref(x._a)


def plain_chain() -> list:
    x = leaf(4)
    y = (x * 2).exp()
    z = y * y
    return [watch(y), watch(z), weakref.ref(z)]


def after_backward() -> list:
    x = leaf(4)
    y = (x * 2).exp()
    z = (y * y).sum()
    z.backward()
    return [watch(y), watch(z), weakref.ref(x.grad)]


def with_create_graph() -> list:
    x = leaf(4)
    y = (x * x * x).sum()
    (g,) = rl.autograd.grad(y, x, create_graph=True)
    (g * g).sum().backward()
    return [watch(y), watch(g)]


def views() -> list:
    x = leaf(4, 4)
    y = x * 2
    v = y[0].view(2, 2).t()
    w = v * v
    return [watch(y), watch(v), watch(w)]


def view_used_then_base_changed() -> list:
    x = leaf(4)
    y = x * 2
    v = y[1:]
    w = v * v.detach()
    y.add_(1)
    (y.sum() + w.detach().sum()).backward()
    return [watch(y), watch(w)]


def saved_view_then_base_takes_its_result() -> list:
    x, z = leaf(4), leaf(2)
    y = x * 2
    v = y[:2]
    w = v * z  # keeps v
    y[2:] = w  # y's history now leads to what kept v
    return [watch(y), watch(v), watch(w), weakref.ref(y)]


def inplace_keeping_old_values() -> list:
    x, z = leaf(4), leaf(4)
    y = x * 1
    y.mul_(z)
    y.pow_(2)
    y.exp_()
    return [watch(y), weakref.ref(y)]


def inplace_on_view() -> list:
    x, z = leaf(4), leaf(2)
    y = x * 1
    v = y[:2]
    v.mul_(z)
    v.sigmoid_()
    y.sum().backward()
    return [watch(y), watch(v), weakref.ref(y), weakref.ref(v)]


def index_put() -> list:
    x, z = leaf(4), leaf(2)
    y = x * 1
    y[rl.tensor([0, 2])] = z
    y[y > 5] = 0
    return [watch(y), weakref.ref(y)]


def hooks() -> list:
    x = leaf(4)
    y = x * 2
    y.register_hook(lambda g: g * 2)
    y.retain_grad()
    z = y.exp()
    z.grad_fn.register_hook(lambda gi, go: None)
    z.sum().backward()
    return [watch(y), watch(z), weakref.ref(y), weakref.ref(y.grad)]


def leaf_hooks() -> list:
    x = leaf(4)
    x.register_hook(lambda g: g)
    x.register_post_accumulate_grad_hook(lambda t: None)
    (x * x).sum().backward()
    return [watch(x), weakref.ref(x)]


def saved_outputs() -> list:
    x = leaf(4)
    y = x.exp().tanh().sigmoid().softmax(0)
    return [watch(y), weakref.ref(y)]


def several_outputs() -> list:
    x = leaf(4, 2)
    a, b = x.unbind(1)
    c, d = (x * 2).split(2)
    values, _ = (x * 3).max(0)
    loss = a.sum() + d.sum() + values.sum()
    loss.backward()
    return [watch(c), watch(d), watch(values), weakref.ref(b)]


def reshaped_in_place() -> list:
    x = leaf(4, 1)
    y = x * 2
    y.squeeze_().unsqueeze_(0)
    (y * y).sum().backward()
    return [watch(y), weakref.ref(y)]


CASES = [
    plain_chain, after_backward, with_create_graph, views, view_used_then_base_changed,
    saved_view_then_base_takes_its_result, inplace_keeping_old_values, inplace_on_view, index_put,
    hooks, leaf_hooks, saved_outputs, several_outputs, reshaped_in_place,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__)
def test_nothing_stays(case: Callable[[], list]) -> None:
    alive = [i for i, ref in enumerate(case()) if ref() is not None]
    assert not alive, f"still alive without the collector: {alive}"


def test_a_custom_function_leaves_nothing() -> None:
    class Square(rl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * x
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, _ = ctx.saved_tensors
            return g * 2 * x

    def case() -> list:
        x = leaf(4)
        y = x * 1
        z = Square.apply(y)
        y.add_(z)
        z.sum()
        return [watch(y), watch(z), weakref.ref(z)]

    assert all(ref() is None for ref in case())


LENGTH = 100_000


def test_a_long_chain_goes_backward() -> None:
    x = leaf(1)
    y = x
    for _ in range(LENGTH):
        y = y + 1
    y.sum().backward()
    assert x.grad.item() == 1


def test_a_long_chain_is_dropped_without_backward() -> None:
    x = leaf(1)
    y = x
    for _ in range(LENGTH):
        y = y * 1.0
    ref = watch(y)
    del y
    assert ref() is None


def test_a_long_chain_in_place() -> None:
    x = leaf(1)
    y = x.clone()
    for _ in range(LENGTH):
        y += 1
    y.sum().backward()
    assert x.grad.item() == 1


def test_a_long_chain_of_writes_into_views() -> None:
    x = leaf(2)
    y = x.clone()
    for _ in range(3_000):
        y[0] += 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1]


def test_a_long_chain_of_views() -> None:
    x = leaf(2, 3)
    y = x
    for _ in range(3_000):
        y = y.t()
    y.sum().backward()
    assert x.grad.shape == (2, 3)


def test_memory_does_not_grow_over_steps() -> None:
    import tracemalloc

    w = leaf(64, 64)

    def step() -> None:
        y = (rl.ones(8, 64) @ w).relu() + 1
        y[:, 0].mul_(2)
        y.sum().backward()
        with rl.no_grad():
            w.sub_(w.grad * 1e-3)
        w.grad = None

    for _ in range(3):
        step()
    tracemalloc.start()
    held = []
    for _ in range(5):
        for _ in range(20):
            step()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    # What steps leave behind is there after every round; caches fill once, other threads come and go.
    assert min(after - before for before, after in pairwise(held)) < 20 * 100, held
