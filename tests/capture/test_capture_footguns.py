"""Foot-guns of compile, from those that would be silent to those that are loud: none is silent.

Every test runs the same function eagerly beside the compiled one and compares, call by call: either the
compiled function does the same, or it says why it cannot.
"""

from __future__ import annotations

import logging
import random
import time
import warnings

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.base.errors import HostReadError
from rushlight.capture import compiled as compiled_file

CALLS = 6


def pair(make, **options):
    """The same function twice, from one seed: eager and compiled."""
    torch.manual_seed(7)
    eager = make()
    torch.manual_seed(7)
    other = make()
    return eager, other, torch.compile(other.step if hasattr(other, "step") else other, **options)


def equal(a, b):
    """Whether two trees of tensors and numbers hold the same values."""
    if isinstance(a, torch.Tensor):
        x, y = a.detach().numpy(), b.detach().numpy()
        np.testing.assert_array_equal(x, y)
        assert a.dtype == b.dtype
    elif isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            equal(x, y)
    else:
        assert a == b


class Step:
    """A small training step with everything in it."""

    def __init__(self, net=None, optimizer=None, zero=True):
        self.net = net or nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.opt = (optimizer or (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))(self.net.parameters())
        self.loss = nn.CrossEntropyLoss()
        self.zero = zero

    def step(self, x, y):
        if self.zero:
            self.opt.zero_grad()
        loss = self.loss(self.net(x), y)
        loss.backward()
        self.opt.step()
        return loss

    def same_as(self, other):
        for p, q in zip(self.net.state_dict().values(), other.net.state_dict().values()):
            equal(p, q)
        for p, q in zip(self.net.parameters(), other.net.parameters()):
            assert (p.grad is None) == (q.grad is None)
            if p.grad is not None:
                equal(p.grad, q.grad)
        for p, q in zip(self.opt.state.values(), other.opt.state.values()):
            for name in p:
                equal(p[name], q[name])


def batch(n=5):
    return torch.randn(n, 4), torch.randint(0, 3, (n,))


def run_both(make, between=None, calls=CALLS, replayed=True, **options):
    """Run both sides over the same batches; `between(step, i)` acts on each before call i."""
    eager, other, compiled = pair(make, **options)
    torch.manual_seed(3)
    batches = [batch() for _ in range(calls)]
    for i, (x, y) in enumerate(batches):
        if between is not None:
            between(eager, i)
            between(other, i)
        state = torch.get_rng_state()
        expected = eager.step(x, y)
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        equal(expected, compiled(x, y))
        equal(after, torch.get_rng_state())
        eager.same_as(other)
    assert bool(compiled.replays) == replayed, compiled.why()
    return eager, other, compiled


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2),
    "nadam": lambda p: torch.optim.NAdam(p, lr=1e-2),
    "radam": lambda p: torch.optim.RAdam(p, lr=1e-2),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-2, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2),
    "adadelta": lambda p: torch.optim.Adadelta(p),
    "adamax": lambda p: torch.optim.Adamax(p),
    "asgd": lambda p: torch.optim.ASGD(p),
    "rprop": lambda p: torch.optim.Rprop(p),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_equals_eager_step_by_step(name):
    run_both(lambda: Step(optimizer=OPTIMIZERS[name]), calls=8)


# -- would be silent: something the program does not see has changed --------------------------------


def test_gradients_held_by_the_user():
    held = {}

    def between(step, i):
        grads = held.setdefault(id(step), [])
        if i:
            grads.append((step.net[0].weight.grad, step.net[0].weight.grad.numpy().copy()))
        for g, values in grads:
            np.testing.assert_array_equal(g.numpy(), values)

    run_both(Step, between, calls=8)


def test_gradient_memory_held_as_numpy():
    held = {}

    def between(step, i):
        arrays = held.setdefault(id(step), [])
        if i:
            a = step.net[0].weight.grad.numpy()
            arrays.append((a, a.copy()))
        for a, values in arrays:
            np.testing.assert_array_equal(a, values)

    run_both(Step, between, calls=8)


# -- Python that a replay would not run: told, and run eagerly --------------------------------------


class Keeps(nn.Module):
    def forward(self, x):
        self.last = x * 2
        return self.last + 1


class Counting:
    n = 0

    def step(self, x):
        self.n = self.n + 1
        return x * self.n


RNG = np.random.default_rng(0)
TOLD = {
    "counter": (Counting().step, "because the call itself changes"),
    "append": (lambda x, seen=[]: seen.append(x) or x * 2, "because the call itself changes|seen"),
    "module": (lambda x, keeps=Keeps(): keeps(x), "because the call itself changes"),
    "random": (lambda x: x * random.random(), "random numbers of Python"),
    "numpy": (lambda x: x * float(np.random.rand()), "random numbers of Python or NumPy"),
    "generator": (lambda x: x * float(RNG.random()), "random numbers of Python or NumPy"),
    "seed": (lambda x: (torch.manual_seed(3), x + torch.rand(2))[1], "sets the seed"),
    "print": (lambda x: print("a step") or x + 1, "prints"),
    "log": (lambda x: logging.getLogger("test").warning("a step") or x + 1, "log"),
    "clock": (lambda x: x * time.perf_counter(), "because it calls time.perf_counter"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_replay_would_leave_out_is_told(name):
    """Scenes show that each call does it (compile_scenes_state.py); here that somebody is told why."""
    fn, match = TOLD[name]
    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match=match):
        for i in range(CALLS):
            compiled(torch.full((2,), float(i)))
    assert not compiled.replays


def test_a_rate_that_changes_is_data():
    """A schedule beside the step: nothing is recorded anew."""

    def make():
        step = Step()
        step.plan = torch.optim.lr_scheduler.OneCycleLR(step.opt, 0.5, total_steps=20)
        return step

    _, _, compiled = run_both(make, lambda step, i: i and step.plan.step(), calls=12)
    assert compiled.replays[-1].runs >= 6


# -- values read on the host -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "read",
    [
        lambda y: 1 if y.sum() > 0 else 2,
        lambda y: 1 if y.sum().item() > 0 else 2,
        lambda y: float(y.sum()),
        lambda y: y.tolist(),
        lambda y: y.numpy().sum(),
        lambda y: print(y) or 1,
        lambda y: f"{y.sum():.3f}",
        lambda y: y.sum().item() * 2,
        lambda y: y[y > 0],
        lambda y: y.nonzero(),
        lambda y: int(y.argmax()),
        lambda y: list(y),  # no read: unbind gives views
    ],
    ids="if if-item float tolist numpy print format arithmetic mask nonzero index iterate".split(),
)
def test_host_reads(read, request, capsys):
    def fn(x):
        y = x * 2
        return read(y), y

    compiled = torch.compile(fn)
    reads = "iterate" not in request.node.callspec.id
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(CALLS):
            x = torch.tensor([1.0, -2.0, 3.0]) * (1 if i % 2 else -1)
            equal(fn(x)[1], compiled(x)[1])
            assert str(fn(x)[0]) == str(compiled(x)[0])
    told = [str(w.message) for w in caught if ", because" in str(w.message)]
    assert len(told) == (1 if reads else 0)
    if reads:
        assert "test_capture_footguns.py:" in told[0]
        with pytest.raises(HostReadError, match="test_capture_footguns.py:"):
            torch.compile(fn, fullgraph=True)(torch.ones(3))


# -- arguments and results ---------------------------------------------------------------------------


def test_other_shapes_record_again():
    compiled = torch.compile(lambda x: (x * 2).sum(0))
    for _ in range(3):
        for n in (2, 3, 4):
            x = torch.randn(n, 2)
            equal((x * 2).sum(0), compiled(x))
    assert len(compiled.replays) == 3


def test_ever_new_shapes_are_told():
    compiled = torch.compile(lambda x: x * 2)
    with pytest.warns(UserWarning, match="many kinds of arguments"):
        for n in range(1, 25):
            equal(torch.ones(n) * 2, compiled(torch.ones(n)))


def test_ever_new_shapes_are_soon_left_alone(monkeypatch):
    """One kind is recorded; later calls are the function's own, and most are not even looked at."""
    recorded, looked = [], []
    record, new = compiled_file.Entry._record, compiled_file.Compiled._new_entry
    monkeypatch.setattr(compiled_file.Entry, "_record", lambda *a: recorded.append(1) or record(*a))
    monkeypatch.setattr(compiled_file.Compiled, "_new_entry", lambda *a: looked.append(1) or new(*a))
    compiled = torch.compile(lambda x: x * 2)
    with pytest.warns(UserWarning, match="many kinds of arguments") as told:
        for _ in range(3):
            for n in range(1, 201):
                equal(torch.ones(n) * 2, compiled(torch.ones(n)))
    assert len(told) == 1 and len(recorded) <= 2 and len(looked) < 40
    for _ in range(3000):  # one that stays is found again
        compiled(torch.ones(7))
    assert len(compiled.replays) >= 1 and compiled.replays[-1].runs > 100


def test_some_shapes_in_turn_have_programs():
    compiled = torch.compile(lambda x: x * 2)
    for _ in range(40):
        for n in range(1, 9):
            equal(torch.ones(n) * 2, compiled(torch.ones(n)))
    assert len(compiled.replays) == 8


def test_backward_of_a_spent_result_says_so():
    step = Step()
    compiled = torch.compile(step.step)
    for _ in range(CALLS):
        loss = compiled(*batch())
    assert loss.requires_grad
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


# -- what is watched, and what is not ------------------------------------------------------------------


def test_attributes_of_other_objects_with_the_same_name_do_not_matter():
    """`self.opt.step()` names `step`; a counter `self.step` beside it is not what the code reads."""

    class Run:
        def __init__(self):
            self.net = nn.Linear(4, 3)
            self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
            self.step = 0

        def train(self, x, y):
            self.opt.zero_grad()
            loss = nn.functional.cross_entropy(self.net(x), y)
            loss.backward()
            self.opt.step()
            return loss

    run = Run()
    compiled = torch.compile(run.train)
    for _ in range(CALLS):
        compiled(*batch())
        run.step += 1
    (replay,) = compiled.replays
    assert replay.runs >= 3


def test_gradients_of_arguments_are_their_own():
    def fn(x):
        (x * x).sum().backward()
        return x + 1

    compiled = torch.compile(fn)
    kept = []
    for i in range(CALLS):
        x = torch.full((3,), float(i), requires_grad=True)
        compiled(x)
        kept.append(x)
    assert compiled.replays
    for i, x in enumerate(kept):
        equal(x.grad, torch.full((3,), 2.0 * i))


# -- options between calls, and what is not part of a call -----------------------------------------------


def test_an_error_while_compiling_is_told_once_and_runs_eagerly(monkeypatch):
    from rushlight.capture.replay import replay

    def broken(*args):
        raise ValueError("this machine cannot")

    monkeypatch.setattr(replay, "lower", broken)
    eager, other, compiled = pair(Step)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(8):
            x, y = batch()
            equal(eager.step(x, y), compiled(x, y))
    told = [str(w.message) for w in caught]
    assert len(told) == 1 and "runs eagerly, because ValueError: this machine cannot" in told[0]
    eager.same_as(other)


@pytest.mark.parametrize(
    ("layer", "name", "value", "shape"),
    [
        (lambda: nn.Conv2d(2, 3, 3), "stride", (2, 2), (1, 2, 9, 9)),
        (lambda: nn.Conv2d(2, 3, 3), "padding", (1, 1), (1, 2, 9, 9)),
        (lambda: nn.BatchNorm1d(4), "eps", 0.5, (5, 4)),
        (lambda: nn.BatchNorm1d(4), "momentum", 0.9, (5, 4)),
        (lambda: nn.LayerNorm(4), "eps", 0.5, (5, 4)),
        (lambda: nn.LeakyReLU(0.1), "negative_slope", 0.7, (5, 4)),
        (lambda: nn.Dropout(0.0), "p", 1.0, (5, 4)),
        (lambda: nn.MaxPool2d(2), "kernel_size", 3, (1, 2, 9, 9)),
        (lambda: nn.Softmax(0), "dim", 1, (5, 4)),
        (lambda: nn.Upsample(scale_factor=2), "mode", "bilinear", (1, 2, 3, 3)),
        (lambda: nn.Flatten(), "start_dim", 2, (1, 2, 3, 3)),
        (lambda: nn.GELU(), "approximate", "tanh", (5, 4)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_options_of_layers_changed(layer, name, value, shape):
    """Which attributes a layer reads is found in its code: none may be missing."""
    torch.manual_seed(0)
    eager = layer()
    torch.manual_seed(0)
    other = layer()
    compiled = torch.compile(lambda x: other(x))
    for i in range(9):
        if i == 5:
            setattr(eager, name, value)
            setattr(other, name, value)
        x = torch.randn(*shape)
        equal(eager(x), compiled(x))
    assert compiled.replays


def test_what_a_kernel_asks_for_is_no_part_of_the_call() -> None:
    """A kernel's body may import a package or look into objects: a replay runs it without watching."""
    from rushlight.capture.record.executed import TENSOR_SECRETS
    from rushlight.core.op import OPS, Op
    from rushlight.runtime.door import KERNELS

    secret = sorted(TENSOR_SECRETS)[0]  # code that is read may not ask for it
    probe = torch.ones(1)

    def body(xp, x):
        hasattr(probe, secret)
        return x + 1

    op = Op(body, "probing_for_this_test")
    try:
        step = torch.compile(lambda x: op(x * 2), fullgraph=True)
        x = torch.ones(3)
        for _ in range(4):
            assert step(x).tolist() == [3.0, 3.0, 3.0]
        assert len(step.replays) == 1
    finally:
        OPS.pop("probing_for_this_test", None), KERNELS.pop("probing_for_this_test", None)
