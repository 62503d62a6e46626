"""Memos that forget: bounded, quick on a hit, and right again after forgetting."""

from __future__ import annotations

import threading
import weakref

import pytest

import rushlight as rl
from rushlight.base.bounded import Bounded


def test_the_older_half_goes():
    memo = Bounded(10)
    for i in range(10):
        memo[i] = str(i)
    memo[9] = "nine"  # a known key makes no room
    assert len(memo) == 10 and memo[0] == "0"
    memo[10] = "10"
    assert list(memo) == [5, 6, 7, 8, 9, 10] and memo[9] == "nine"
    assert memo.setdefault(5, "no") == "5" and memo.setdefault(11, "11") == "11"


@pytest.mark.parametrize("most", [1, 2, 3, 64])
def test_it_never_holds_more(most: int):
    memo = Bounded(most)
    for i in range(500):
        memo[i] = i
        assert len(memo) <= most and memo[i] == i
    for i in range(500):
        memo.setdefault(-i, i)
        assert len(memo) <= most


def test_threads():
    memo, wrong = Bounded(16), []

    def work(start: int) -> None:
        for i in range(start, start + 5000):
            memo[i] = i
            if memo.get(i, i) != i:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(n * 3000,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and len(memo) <= 16 + 4


def test_shapes_that_never_repeat_fill_no_memory():
    """As many sizes as a memo has places, and more: none of the memos on the way grows past its bound."""
    from rushlight.core.gradients.differentiate import _ones
    from rushlight.operators.layers import conv, pool

    weight = rl.ones(1, 1, 1, 1, requires_grad=True)
    for n in range(1, 100):
        x = rl.ones(1, 1, n, 2)
        out = rl.nn.functional.max_pool2d(rl.nn.functional.conv2d(x, weight), 1)
        out.sum().reshape((1,) * (n % 64)).backward()
    assert len(_ones) <= _ones.most == 64
    assert len(conv._checked) <= conv._checked.most and len(pool._checked) <= pool._checked.most
    assert weight.grad is not None


def test_plans_of_an_op_of_many_inputs():
    from rushlight.core.op import OPS

    parts = [rl.ones(1) for _ in range(12)]
    for mask in range(1, 1 << 11):
        for i, part in enumerate(parts):
            part.requires_grad_(bool(mask >> i & 1))
        rl.cat(parts).sum().backward()
    plans = OPS["cat"].plans
    assert len(plans) <= plans.most


def test_a_captured_graph_holds_what_it_may_run():
    """All that was loaded before or during the capture, and nothing that came later; nothing goes while it lasts."""
    from rushlight.runtime.cuda.code.held import holding, runnable

    class Module:
        pass

    memo = Bounded(1)
    memo[0] = early = runnable(Module())
    gone = weakref.ref(runnable(Module()))
    with holding() as graph, holding() as other:
        memo[1] = late = runnable(Module())
        seen = [weakref.ref(early), weakref.ref(late)]
        del early, late
        memo[2] = runnable(Module())
        assert gone() is None and all(ref() is not None for ref in seen)
    after = runnable(Module())
    assert {ref() for ref in seen} <= set(graph) == set(other) and after not in graph
    del graph
    assert all(ref() is not None for ref in seen)
    del other
    assert not any(ref() for ref in seen)
