"""Foot-guns of compile, from those that would be silent to those that are loud: none is silent.

Every test runs the same function eagerly beside the compiled one and compares, call by call: either the
compiled function does the same, or it says why it cannot.
"""

from __future__ import annotations

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


def test_dropout_draws_anew_and_advances_the_stream():
    run_both(lambda: Step(nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.Linear(16, 3))))


def test_optimizer_state_loaded():
    def between(step, i):
        if i == 2:
            step.kept = step.opt.state_dict()
            step.kept = {
                "state": {k: {n: v.clone() for n, v in s.items()} for k, s in step.kept["state"].items()},
                "param_groups": step.kept["param_groups"],
            }
        if i == 5:
            step.opt.load_state_dict(step.kept)

    run_both(Step, between, calls=9)


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


def test_counter_inside_is_told():
    class Counting:
        n = 0

        def step(self, x):
            self.n = self.n + 1
            return x * self.n

    eager, counted = Counting(), Counting()
    compiled = torch.compile(counted.step)
    with pytest.warns(UserWarning, match="because the call itself changes"):
        for _ in range(8):
            equal(eager.step(torch.ones(2)), compiled(torch.ones(2)))
    assert counted.n == eager.n
    assert not compiled.replays


def test_list_append_inside_is_told():
    seen = []

    def fn(x):
        y = x * 2
        seen.append(y)
        return y

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="seen"):
        for _ in range(8):
            compiled(torch.ones(2))
    assert len(seen) == 8


def test_scheduler_inside_is_told():
    step = Step()
    plan = torch.optim.lr_scheduler.ExponentialLR(step.opt, 0.5)

    def fn(x, y):
        loss = step.step(x, y)
        plan.step()
        return loss

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="because the call itself changes"):
        for _ in range(8):
            compiled(*batch())
    assert step.opt.param_groups[0]["lr"] == pytest.approx(0.1 * 0.5**8)


def test_python_random_inside_is_told():
    import random

    def fn(x):
        return x * random.random()

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="random numbers of Python"):
        values = [compiled(torch.ones(1)).item() for _ in range(8)]
    assert len(set(values)) == 8


def test_numpy_random_inside_is_told():
    rng = np.random.default_rng(0)
    for draw in (lambda: float(np.random.rand()), lambda: float(rng.random())):
        compiled = torch.compile(lambda x, draw=draw: x * draw())
        with pytest.warns(UserWarning, match="random numbers of Python or NumPy"):
            values = [compiled(torch.ones(1)).item() for _ in range(8)]
        assert len(set(values)) == 8


def test_seeding_inside_is_told():
    def fn(x):
        torch.manual_seed(3)
        return x + torch.rand(2)

    compiled = torch.compile(fn)
    with pytest.warns(UserWarning, match="sets the seed"):
        values = [compiled(torch.ones(2)) for _ in range(CALLS)]
    for v in values:
        equal(v, values[0])


def test_printing_and_logging_inside_are_told(capsys):
    import logging

    def prints(x):
        print("a step")
        return x + 1

    def logs(x):
        logging.getLogger("test").warning("a step")
        return x + 1

    for fn, word in ((prints, "prints"), (logs, "log")):
        compiled = torch.compile(fn)
        with pytest.warns(UserWarning, match=word):
            for _ in range(CALLS):
                compiled(torch.ones(2))
    assert capsys.readouterr().out.count("a step") == CALLS


def test_a_value_that_depends_on_the_clock_is_told():
    import time

    compiled = torch.compile(lambda x: x * time.perf_counter())
    with pytest.warns(UserWarning, match="because it calls time.perf_counter"):
        values = [compiled(torch.ones(1, dtype=torch.float64)).item() for _ in range(8)]
    assert values == sorted(values) and len(set(values)) == 8


def test_module_attribute_assigned_inside_is_told():
    class Keeps(nn.Module):
        def forward(self, x):
            self.last = x * 2
            return self.last + 1

    model = Keeps()
    compiled = torch.compile(lambda x: model(x))
    with pytest.warns(UserWarning, match="because the call itself changes"):
        for i in range(8):
            compiled(torch.full((2,), float(i)))
            equal(model.last, torch.full((2,), 2.0 * i))


# -- values read on the host -------------------------------------------------------------------------


def test_item_returned_is_replayed():
    eager, compiled_side = Step(), Step()
    compiled_side.net.load_state_dict(eager.net.state_dict())

    def make(step):
        def fn(x, y):
            loss = step.step(x, y)
            return loss.item(), loss

        return fn

    plain, compiled = make(eager), torch.compile(make(compiled_side))
    for _ in range(CALLS):
        x, y = batch()
        a, b = plain(x, y), compiled(x, y)
        assert type(b[0]) is float
        equal(a, b)
    assert compiled.replays


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


def test_result_is_a_parameter():
    w = torch.ones(3)

    def fn(x):
        return w, w.detach(), x + w

    compiled = torch.compile(fn)
    for i in range(CALLS):
        a, b, c = compiled(torch.full((3,), float(i)))
        assert a is w
        equal(b, w)
        w.add_(1)
        equal(b, w)


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


def test_constant_made_inside_is_restored():
    def fn(x):
        total = torch.tensor([0.0, 0.0])
        for row in x:
            total += row
        return total

    compiled = torch.compile(fn)
    for _ in range(CALLS):
        x = torch.randn(3, 2)
        equal(fn(x), compiled(x))
    assert compiled.replays


def test_exception_inside_leaves_everything_usable():
    def fn(x):
        if x.shape[0] == 3:
            raise KeyError("three")
        return x + 1

    compiled = torch.compile(fn)
    for _ in range(4):
        with pytest.raises(KeyError):
            compiled(torch.ones(3))
        equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert not torch.capture.is_recording()


def test_grad_mode_is_part_of_the_key():
    lin = nn.Linear(3, 2)
    compiled = torch.compile(lambda x: lin(x))
    x = torch.randn(4, 3)
    for _ in range(4):
        with torch.no_grad():
            assert not compiled(x).requires_grad
        assert compiled(x).requires_grad


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


class Settings:
    scale = 2.0


def test_class_attribute_changed():
    def fn(x):
        return x * Settings.scale

    compiled = torch.compile(fn)
    for i in range(8):
        Settings.scale = 2.0 if i < 4 else 3.0
        equal(fn(torch.ones(2)), compiled(torch.ones(2)))
    Settings.scale = 2.0


def test_property_of_a_users_object():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self._factor = 2.0

        @property
        def factor(self):
            return self._factor

        def forward(self, x):
            return x * self.factor

    model = Model()
    compiled = torch.compile(lambda x: model(x))
    for i in range(8):
        model._factor = 2.0 if i < 4 else 3.0
        equal(model(torch.ones(2)), compiled(torch.ones(2)))
    assert compiled.replays


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


# -- changes of structure, options and modes between calls -----------------------------------------------


def test_module_added_and_removed():
    def between(step, i):
        if i == 4:
            step.net.append(nn.Linear(3, 3))
            with torch.no_grad():
                step.net[-1].weight.copy_(torch.eye(3) * 2)
                step.net[-1].bias.zero_()
        if i == 9:
            del step.net[-1]

    run_both(Step, between, calls=14)


def test_backward_and_optimizer_hooks_added_later():
    def between(step, i):
        if i == 4:
            step.net[2].register_full_backward_hook(lambda m, gi, go: tuple(g * 2 for g in gi))
        if i == 8:
            step.opt.register_step_pre_hook(
                lambda o, a, k: [p.grad.mul_(0.5) for g in o.param_groups for p in g["params"]] and None
            )

    run_both(Step, between, calls=13)


def test_requires_grad_toggled_back_and_forth():
    def between(step, i):
        if i in (4, 8):
            step.net[0].weight.requires_grad_(i == 8)

    run_both(Step, between, calls=13)


def test_optimizer_state_cleared():
    run_both(Step, lambda step, i: step.opt.state.clear() if i == 5 else None, calls=10)


@pytest.mark.parametrize("kind", ["OneCycleLR", "CosineAnnealingLR", "LambdaLR", "ReduceLROnPlateau"])
def test_schedulers_of_every_kind(kind):
    makers = {
        "OneCycleLR": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.5, total_steps=20),
        "CosineAnnealingLR": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 5),
        "LambdaLR": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda n: 0.8**n),
        "ReduceLROnPlateau": lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=1),
    }

    def make():
        step = Step()
        step.plan = makers[kind](step.opt)
        return step

    def between(step, i):
        if i:
            step.plan.step(*((1.0,) if kind == "ReduceLROnPlateau" else ()))

    _, _, compiled = run_both(make, between, calls=12)
    assert compiled.replays[-1].runs >= 6  # a number that changes is data: nothing is recorded anew


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_arguments_that_overlap(offset):
    def fn(a, b):
        a.add_(b)
        return a * b

    compiled = torch.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(CALLS):
            x, y = torch.arange(6.0), torch.arange(6.0)
            equal(fn(x[:3], x[offset : offset + 3]), compiled(y[:3], y[offset : offset + 3]))
            equal(x, y)


def test_default_dtype_changed():
    compiled = torch.compile(lambda x: x + torch.ones(3))
    try:
        for i in range(10):
            torch.set_default_dtype(torch.float64 if i % 2 else torch.float32)
            got = compiled(torch.zeros(3, dtype=torch.float32))
            assert got.dtype == (torch.float64 if i % 2 else torch.float32)
    finally:
        torch.set_default_dtype(torch.float32)


def test_deterministic_switch_is_part_of_the_key():
    compiled = torch.compile(lambda x: torch.tanh(x * 2 + 1) / 3)
    try:
        for i in range(10):
            torch.use_deterministic_algorithms(bool(i % 2))
            x = torch.randn(50)
            if i % 2:
                equal(torch.tanh(x * 2 + 1) / 3, compiled(x))
            else:
                compiled(x)
    finally:
        torch.use_deterministic_algorithms(False)
    assert len(compiled.replays) == 2


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
