"""Optimisers' options, groups and states against PyTorch's: signatures, defaults, refusals, history."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import rushlight as rl
from optim_scripts import MENU

NAMES = list(MENU)


def small(lib, dtype="float32"):
    return [lib.nn.Parameter(lib.ones(2, 3, dtype=getattr(lib, dtype))) for _ in range(2)]


@pytest.mark.parametrize("name", NAMES)
def test_signature_is_torchs(name):
    torch = pytest.importorskip("torch")
    mine, theirs = (inspect.signature(getattr(lib.optim, name)).parameters for lib in (rl, torch))
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [
        (p.name, p.kind, p.default) for p in theirs.values()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_groups_have_torchs_options(name):
    torch = pytest.importorskip("torch")
    mine, theirs = (getattr(lib.optim, name)(small(lib)).param_groups[0] for lib in (rl, torch))
    assert list(mine) == list(theirs)
    assert all(mine[k] == theirs[k] for k in mine if k != "params")


BAD = [
    ("SGD", dict(lr=-1.0)), ("SGD", dict(momentum=-1)), ("SGD", dict(weight_decay=-1)),
    ("SGD", dict(nesterov=True)), ("SGD", dict(fused=True, foreach=True)),
    ("SGD", dict(fused=True, differentiable=True)), ("Adam", dict(lr=-1)), ("Adam", dict(eps=-1)),
    ("Adam", dict(betas=(1.0, 0.9))), ("Adam", dict(betas=(0.9, -0.1))), ("Adam", dict(betas=(0, 0.9))),
    ("Adam", dict(weight_decay=-1)), ("Adam", dict(fused=True, foreach=True)),
    ("Adam", dict(fused=True, differentiable=True)), ("AdamW", dict(decoupled_weight_decay=True)),
    ("Adamax", dict(weight_decay=-1)), ("Adamax", dict(fused=True)), ("NAdam", dict(momentum_decay=-1)),
    ("RAdam", dict(betas=(2, 0.9))), ("RMSprop", dict(alpha=-1)), ("RMSprop", dict(momentum=-1)),
    ("Adagrad", dict(lr_decay=-1)), ("Adagrad", dict(initial_accumulator_value=-1)),
    ("Adagrad", dict(fused=True, foreach=True)), ("Adadelta", dict(rho=2.0)), ("Rprop", dict(etas=(1, 2))),
    ("ASGD", dict(weight_decay=-1)), ("Adafactor", dict(d=0.5)), ("Adafactor", dict(beta2_decay=1)),
    ("Adafactor", dict(eps=(-1, 1))), ("Adafactor", dict(eps=(None, -1))), ("Adafactor", dict(lr=-1)),
    ("Muon", dict(momentum=-1)), ("Muon", dict(adjust_lr_fn="x")), ("Muon", dict(weight_decay=-1)),
    ("LBFGS", dict(lr=-1)),
]  # fmt: skip


@pytest.mark.parametrize("name,options", BAD, ids=[f"{n}-{'-'.join(o)}" for n, o in BAD])
def test_what_torch_refuses_is_refused(name, options):
    torch = pytest.importorskip("torch")
    said = []
    for lib in (rl, torch):
        with pytest.raises((ValueError, RuntimeError, TypeError)) as caught:
            getattr(lib.optim, name)(small(lib), **options)
        said.append(caught)
    assert said[0].type is said[1].type
    if said[0].type is not TypeError:
        assert str(said[0].value) == str(said[1].value)


def test_groups_are_checked_as_torchs():
    torch = pytest.importorskip("torch")
    for lib in (rl, torch):
        a, b = small(lib)
        group = {"params": a}
        opt = lib.optim.Adam([group])
        assert opt.param_groups[0] is group and group["lr"] == 1e-3
        with pytest.raises(ValueError, match="more than one parameter group"):
            opt.add_param_group({"params": [a]})
        with pytest.raises(TypeError, match="ordered collections"):
            opt.add_param_group({"params": {b}})
        with pytest.raises(ValueError, match="with/without names"):
            opt.add_param_group({"params": [("b", b)]})
        with pytest.raises(ValueError, match="Some param names are missing"):
            lib.optim.Adam([("a", a), b])
        with pytest.warns(UserWarning, match="duplicate parameters"):
            lib.optim.SGD([a, a])
        named = lib.optim.Adam([("a", a), ("b", b)])
        assert named.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
        with pytest.raises(RuntimeError, match="floating point Tensors"):
            whole = lib.nn.Parameter(lib.ones(2, dtype=lib.complex64))
            whole.grad = lib.ones_like(whole)
            lib.optim.Adam([whole], fused=True).step()
        with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
            lib.optim.RMSprop([a], lr=lib.ones(2))


def test_learning_rates_and_betas_may_be_tensors():
    torch = pytest.importorskip("torch")
    ends = []
    for lib in (rl, torch):
        params = small(lib)
        lr = lib.tensor(0.1)
        opt = lib.optim.Adam(params, lr=lr, betas=(lib.tensor(0.8), lib.tensor(0.9)))
        for i in range(3):
            for p in params:
                p.grad = lib.ones_like(p) * (i + 1)
            opt.step()
            lr.mul_(0.5)
        ends.append(params[0].detach().numpy())
    np.testing.assert_allclose(*ends, rtol=1e-5)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("Adafactor", "Muon", "LBFGS")])
@pytest.mark.parametrize("history", [False, True], ids=["number", "tensor"])
def test_a_differentiable_step_has_torchs_derivatives(name, history):
    """Two steps, then the derivative by where they began, and by a learning rate that asks for it."""
    torch = pytest.importorskip("torch")
    if history and name not in ("SGD",):
        pytest.skip("PyTorch's other rules take a number of it")
    found = []
    for lib in (rl, torch):
        start = lib.tensor([1.0, -2.0, 0.5], dtype=lib.float64, requires_grad=True)
        lr = lib.tensor(0.1, dtype=lib.float64, requires_grad=True) if history else 0.1
        p = start.clone()
        more = {"momentum": 0.9} if name == "SGD" else {}
        opt = getattr(lib.optim, name)([p], lr=lr, differentiable=True, **more)
        # PyTorch's own in-place changes forbid a second step of these; here they may take more.
        for _ in range(1 if history or name in ("Adamax", "Rprop") else 3):
            before = p.clone()  # the step changes p in place
            p.grad = before * before * 0.3 + 0.1
            opt.step()
        (p * p).sum().backward()
        found.append([start.grad.numpy(), *([lr.grad.numpy()] if history else [])])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=5e-5)  # PyTorch's step counts are float32 tensors here


def test_a_step_of_the_users_own_runs_as_it_is_written():
    """PyTorch puts no `no_grad` around it: a closure called in it makes a graph."""
    for lib in [rl, pytest.importorskip("torch")]:

        class Mine(lib.optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"lr": 0.1})

            def step(self, closure=None):
                loss = closure()
                for p in self.param_groups[0]["params"]:
                    p.data.add_(p.grad, alpha=-self.param_groups[0]["lr"])
                return loss

        params, seen = small(lib), []
        opt = Mine(params)
        opt.register_step_pre_hook(lambda o, args, kwargs: seen.append(args[0] is o))
        base = importlib.import_module(f"{lib.__name__}.optim.optimizer")
        handle = base.register_optimizer_step_post_hook(lambda o, a, k: seen.append("all"))

        def closure(params=params):
            loss = (params[0] ** 2 + params[1]).sum()
            loss.backward()
            return loss

        assert opt.step(closure).requires_grad
        handle.remove()
        assert seen == [True, "all"]
        assert abs(params[0][0, 0].item() - 0.8) < 1e-6


def test_hooks_of_files():
    params, seen = small(rl), []
    opt = rl.optim.Adam(params)
    opt.register_state_dict_pre_hook(lambda o: seen.append("saving"))
    opt.register_state_dict_post_hook(lambda o, d: {**d, "more": 1})
    opt.register_load_state_dict_pre_hook(lambda o, d: {**d, "param_groups": d["param_groups"]})
    opt.register_load_state_dict_post_hook(lambda o: seen.append("late"))
    opt.register_load_state_dict_post_hook(lambda o: seen.append("early"), prepend=True)
    saved = opt.state_dict()
    assert saved["more"] == 1
    opt.load_state_dict(saved)
    assert seen == ["saving", "early", "late"]


def test_states_of_another_shape_are_refused():
    a, b = rl.nn.Parameter(rl.ones(2, 3)), rl.nn.Parameter(rl.ones(3, 2))
    opt = rl.optim.Adam([a])
    a.grad = rl.ones(2, 3)
    opt.step()
    other = rl.optim.Adam([b])
    other.load_state_dict(opt.state_dict())
    b.grad = rl.ones(3, 2)
    with pytest.raises(RuntimeError, match="shape"):
        other.step()


def test_a_state_kept_for_a_derivative_is_missed_when_changed():
    p = rl.nn.Parameter(rl.ones(3))
    opt = rl.optim.Adam([p])
    p.grad = rl.ones(3)
    opt.step()
    x = rl.ones(3, requires_grad=True)
    loss = (x * opt.state[p]["exp_avg"]).sum()
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_decay_of_zero_leaves_infinity():
    for name in ("SGD", "Adam", "RMSprop", "Adagrad"):
        p = rl.nn.Parameter(rl.tensor([float("inf"), 1.0] * 9))
        p.grad = rl.ones(18)
        getattr(rl.optim, name)([p], lr=0.1).step()
        assert p[0].item() == float("inf"), name


def test_schedules_write_into_a_learning_rate_that_is_a_tensor():
    for lib in [rl, pytest.importorskip("torch")]:
        lr = lib.tensor(0.5)
        opt = lib.optim.SGD(small(lib), lr=lr)
        schedule = lib.optim.lr_scheduler.ExponentialLR(opt, 0.5)
        opt.step()
        schedule.step()
        assert opt.param_groups[0]["lr"] is lr and lr.item() == 0.25
        assert float(schedule.get_last_lr()[0]) == 0.25


def test_several_groups_are_printed_as_torch_prints_them():
    torch = pytest.importorskip("torch")
    found = []
    for lib in (rl, torch):
        a, b = (lib.nn.Parameter(lib.ones(2)) for _ in range(2))
        found.append(repr(lib.optim.Adam([{"params": [a]}, {"params": [b], "lr": 0.2}])))
    assert found[0] == found[1]


RESUMED = {
    "StepLR": {"step_size": 2}, "MultiStepLR": {"milestones": [2, 4]}, "ExponentialLR": {"gamma": 0.5}, "ConstantLR": {"total_iters": 4},
    "LinearLR": {"total_iters": 4}, "PolynomialLR": {"total_iters": 6}, "CosineAnnealingLR": {"T_max": 6},
    "CosineAnnealingWarmRestarts": {"T_0": 3}, "LambdaLR": {"lr_lambda": lambda e: 1 / (1 + e)}, "MultiplicativeLR": {"lr_lambda": lambda e: 0.9},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("last", [0, 1, 3, 5])
def test_a_schedule_that_goes_on_begins_with_the_rate_that_was_saved(name, last):
    """The constructor's own step must not be one ahead of the checkpoint."""
    torch = pytest.importorskip("torch")
    found = []
    for lib in (rl, torch):
        group = {"params": [lib.nn.Parameter(lib.ones(1))], "lr": 0.07, "initial_lr": 0.1}
        opt = lib.optim.SGD([group], lr=0.1)
        schedule = getattr(lib.optim.lr_scheduler, name)(opt, last_epoch=last, **RESUMED[name])
        found.append([opt.param_groups[0]["lr"]])
        for _ in range(4):
            opt.step()
            schedule.step()
            found[-1].append(opt.param_groups[0]["lr"])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


SEQUENCES = {
    "from the second": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)], milestones=[0]),
    "from the last": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], milestones=[0, 0]),
    "in each other": lambda s, o: s.SequentialLR(o, [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)], [2]), s.StepLR(o, 2)], [4]),
    "chained inside": lambda s, o: s.SequentialLR(o, [s.ChainedScheduler([s.ConstantLR(o, 0.5, 3), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 2)], [4]),
    "factors": lambda s, o: s.SequentialLR(o, [s.ExponentialLR(o, 0.9), s.MultiplicativeLR(o, lambda e: 0.8)], [3]),
    "a plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o), s.StepLR(o, 2)], [4]),
    "a chained plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o), s.StepLR(o, 2)]),
    "nothing": lambda s, o: s.SequentialLR(o, [], []),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", SEQUENCES)
def test_sequences_of_schedules_go_as_torchs(how):
    torch = pytest.importorskip("torch")
    found = []
    for lib in (rl, torch):
        opt = lib.optim.SGD([lib.nn.Parameter(lib.ones(1))], lr=1.0)
        try:
            schedule = SEQUENCES[how](lib.optim.lr_scheduler, opt)
        except ValueError:
            found.append(["refused"])
            continue
        found.append([opt.param_groups[0]["lr"]])
        for _ in range(7):
            opt.step()
            schedule.step()
            found[-1].append(opt.param_groups[0]["lr"])
    assert found[0] == (found[1] if found[1] == ["refused"] else pytest.approx(found[1]))


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
@pytest.mark.parametrize("name, options", [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("Adam", {}), ("AdamW", {}), ("RMSprop", {}), ("Adagrad", {}), ("Adadelta", {}),
    ("NAdam", {}), ("RAdam", {}), ("Adamax", {}), ("ASGD", {}), ("Rprop", {}), ("Adafactor", {}),
])  # fmt: skip
def test_a_parameter_that_is_named_twice_is_changed_twice(name: str, options: dict) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (rl, torch):
        p, q = [lib.nn.Parameter(lib.linspace(-1, k, 6).reshape(2, 3)) for k in (1, 2)]
        opt = getattr(lib.optim, name)([p, q, p], lr=0.1, **options)
        for _ in range(3):
            opt.zero_grad()
            ((p * 2).pow(2).sum() + q.sin().sum()).backward()
            opt.step()
        found.append([*p.flatten().tolist(), *q.flatten().tolist()])
    assert found[0] == pytest.approx(found[1], rel=1e-5, abs=1e-6)
