"""Arguments of compiled functions that share memory in another way than when they were recorded."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight.capture.program.slots import apart, reach, whole


def shared(kind, first):
    """Three vectors of four numbers: apart, side by side, the same, overlapping, or over one buffer."""
    p = torch.arange(first, first + 12.0)
    q = torch.arange(first, first + 12.0) * 2
    buffer = bytearray(np.arange(first, first + 12, dtype=np.float32).tobytes())

    def raw(at):
        return torch.frombuffer(buffer, dtype=torch.float32, offset=4 * at, count=4)

    one = p[:4]
    return {
        "apart": lambda: (p[:4], q[:4], q[4:8]),
        "beside": lambda: (p[:4], p[4:8], q[:4]),
        "equal views": lambda: (p[:4], p[:4], q[:4]),
        "overlapping": lambda: (p[:4], p[2:6], q[:4]),
        "first and last": lambda: (p[:4], q[:4], p[3:7]),
        "last two": lambda: (p[:4], q[:4], q[2:6]),
        "every other": lambda: (p[0:8:2], p[1:8:2], q[:4]),
        "one buffer": lambda: (raw(0), raw(2), raw(4)),
        "one buffer, apart": lambda: (raw(0), raw(4), raw(8)),
        "one tensor": lambda: (one, one, q[:4]),
        "one array": lambda: (one, one.detach(), q[:4]),
    }[kind]()


KINDS = [
    "apart", "beside", "equal views", "overlapping", "first and last", "last two", "every other",
    "one buffer", "one buffer, apart", "one tensor", "one array",
]  # fmt: skip


def writes_two(a, b, c):
    a.add_(1)
    d = b * 2 + c
    c.mul_(3)
    return a + b + c + d


def writes_none(a, b, c):
    return a * b + c, a


def returns_what_it_wrote(a, b, c):
    b.copy_(a * 2)
    return b, b is a, c


@pytest.mark.parametrize("fn", [writes_two, writes_none, returns_what_it_wrote])
@pytest.mark.parametrize("seed", range(8))
def test_sharing_that_changes_from_call_to_call(fn, seed):
    rng = random.Random(seed)
    compiled = torch.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(14):
            kind = rng.choice(["apart", "beside", "one buffer, apart"] if i < 5 else KINDS)
            x, y = shared(kind, i), shared(kind, i)
            expected, got = fn(*x), compiled(*y)
            for a, b in zip((*x, expected), (*y, got)):
                a, b = (v if isinstance(v, tuple) else (v,) for v in (a, b))
                for u, v in zip(a, b):
                    same = u == v if isinstance(u, bool) else np.array_equal(u.numpy(), v.numpy())
                    assert same, (kind, i)
    assert compiled.replays, compiled.why()


def test_one_call_with_shared_arguments_leaves_the_program_in_place():
    compiled = torch.compile(writes_two)
    for i in range(3):
        compiled(*shared("apart", i))
    with pytest.warns(UserWarning, match="calls like this one run eagerly"):
        compiled(*shared("overlapping", 3))
    compiled(*shared("apart", 4))
    (replay,) = compiled.replays
    assert replay.runs == 2


def test_shared_arguments_raise_with_fullgraph():
    compiled = torch.compile(writes_two, fullgraph=True)
    with pytest.raises(RuntimeError, match="shares memory with another"):
        for i in range(3):
            compiled(*shared("overlapping", i))


def test_an_argument_over_a_buffer_that_the_function_keeps():
    buffer = bytearray(np.arange(8, dtype=np.float32).tobytes())
    kept = torch.frombuffer(buffer, dtype=torch.float32, count=4)

    def fn(x):
        kept.add_(1)
        return x + kept

    def again(x, w):
        w.add_(1)
        return x + w

    compiled = torch.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(8):
            w = torch.from_numpy(np.frombuffer(bytes(buffer), np.float32).copy())
            inside = i >= 4 and i % 2
            x = torch.frombuffer(buffer, dtype=torch.float32, offset=8, count=4) if inside else torch.ones(4)
            expected = again(w[2:6] if inside else torch.ones(4), w[:4])
            np.testing.assert_array_equal(compiled(x).numpy(), expected.numpy())


def test_a_scalar_that_is_written_after_it_was_made():
    """NumPy gives a scalar for `max`, which cannot be written."""

    def fn(x):
        m = x.max()
        m.fill_(0.25)
        s = x.sum()
        s.view(1).mul_(2)
        return m + x, s

    compiled = torch.compile(fn)
    for i in range(5):
        x = torch.arange(3.0) + i
        for a, b in zip(fn(x), compiled(x)):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert compiled.replays


SCALE = 0.0


@pytest.mark.parametrize("where", ["argument", "global", "closure", "tuple", "key"])
def test_zero_and_minus_zero_are_two_numbers(where):
    global SCALE
    box = 0.0

    def by_global(x):
        return x * SCALE

    def by_closure(x):
        return x * box

    def by_argument(x, s):
        return x * (s[0] if isinstance(s, tuple) else s["s"] if isinstance(s, dict) else s)

    fn = {"global": by_global, "closure": by_closure}.get(where, by_argument)
    compiled = torch.compile(fn)
    for i in range(10):
        SCALE = box = -0.0 if i in (3, 4, 5, 9) else 0.0
        rest = {"argument": [box], "tuple": [(box,)], "key": [{"s": box}]}.get(where, [])
        sign = np.signbit(compiled(torch.ones(2), *rest).numpy())
        assert sign.all() == np.signbit(box) and sign.any() == np.signbit(box), i
    assert compiled.replays


def test_a_gradient_that_is_zeroed_and_then_replaced():
    """The zeros went to the old gradient's memory, which the new one had been given."""

    def make():
        torch.manual_seed(0)
        lin = torch.nn.Linear(3, 2)
        opt = torch.optim.SGD(lin.parameters(), lr=0.1)

        def step(x):
            opt.zero_grad(set_to_none=False)
            opt.zero_grad()
            lin(x).sum().backward()
            opt.step()

        return lin, step

    (one, eager), (other, step) = make(), make()
    compiled = torch.compile(step)
    for i in range(6):
        x = torch.arange(6.0).reshape(2, 3) + i
        eager(x)
        compiled(x)
        np.testing.assert_array_equal(one.weight.grad.numpy(), other.weight.grad.numpy())
        np.testing.assert_array_equal(one.weight.detach().numpy(), other.weight.detach().numpy())
    assert compiled.replays


def test_clipping_gradients_that_come_later():
    """A program that was recorded without gradients is not one for parameters that have some."""
    clip = torch.nn.utils.clip_grad_norm_
    p = torch.nn.Parameter(torch.ones(3))

    def fn(x):
        clip([p], 0.5)
        return x * 2

    compiled = torch.compile(fn)
    for i in range(8):
        if i == 4:
            p.grad = torch.full((3,), 4.0)
        compiled(torch.ones(3))
    assert float(p.grad.norm()) < 0.51


class Kept:
    """A tensor that a function keeps, and a view of its rows."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.whole = torch.randn(3, 4)
        self.rows = self.whole[1:]


KEEPS = {
    "the view is changed": lambda kept, x: (kept.rows.add_(0.25), torch.relu(x))[1],
    "the whole is changed": lambda kept, x: (kept.whole.mul_(1.5), x * 2)[1],
    "the argument is changed": lambda kept, x: (x.add_(0.25), torch.relu(kept.rows))[1],
    "both are changed": lambda kept, x: (x.add_(0.25), kept.rows.mul_(2.0), kept.whole + 1)[2],
}


@pytest.mark.parametrize("calls", ["wwww", "aaaawaw", "rrrr", "awraw", "wrwrwr"])
@pytest.mark.parametrize("keeps", KEEPS)
def test_an_argument_that_is_or_covers_a_view_of_what_the_function_keeps(keeps, calls):
    def results(compiled):
        kept = Kept()

        def step(x):
            return KEEPS[keeps](kept, x)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call = torch.compile(step) if compiled else step
            given = {"w": kept.whole, "r": kept.rows}
            found = [call(given.get(c, torch.arange(12.0).view(3, 4))).tolist() for c in calls]
        return found, kept.whole.tolist()

    assert results(True) == results(False)


@pytest.mark.parametrize(
    ("kind", "by_bytes", "by_owner"),
    [
        ("apart", True, True),
        ("beside", True, False),
        ("overlapping", False, False),
        ("every other", False, False),
        ("one buffer", False, True),  # owners without an array in common: loops take none that is seen so
        ("one buffer, apart", True, True),
    ],
)
def test_apart_by_bytes_and_by_owner(kind, by_bytes, by_owner):
    arrays = [t._a for t in shared(kind, 0)[:2]]
    for written in (0, 1):
        assert apart({i: reach(a) for i, a in enumerate(arrays)}, {written}) is by_bytes
        assert apart({i: whole(a) for i, a in enumerate(arrays)}, {written}) is by_owner
    assert apart({i: reach(a) for i, a in enumerate(arrays)}, ())  # nothing is written
    assert apart({0: reach(arrays[0])}, {0, 1})  # one array given twice has one key
