"""Optimisers and schedules against PyTorch: twenty steps, curves, files, groups, closures."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as rl
from rushlight import optim

OPTIMISERS = [
    ("SGD", dict(lr=0.1)),
    ("SGD", dict(lr=0.1, momentum=0.9)),
    ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.1, weight_decay=0.01)),
    ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    ("SGD", dict(lr=0.1, momentum=0.5, maximize=True)),
    ("Adam", dict(lr=0.05)),
    ("Adam", dict(lr=0.05, weight_decay=0.1, amsgrad=True)),
    ("Adam", dict(lr=0.05, maximize=True, betas=(0.8, 0.9), eps=1e-3)),
    ("AdamW", dict(lr=0.05)),
    ("AdamW", dict(lr=0.05, weight_decay=0.1, amsgrad=True)),
    ("Adamax", dict(lr=0.05, weight_decay=0.1)),
    ("NAdam", dict(lr=0.05)),
    ("NAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)),
    ("RAdam", dict(lr=0.05)),
    ("RAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)),
    ("RMSprop", dict(lr=0.05)),
    ("RMSprop", dict(lr=0.05, momentum=0.9, centered=True, weight_decay=0.1)),
    ("Adagrad", dict(lr=0.1, lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5)),
    ("Adadelta", dict(lr=1.0, weight_decay=0.1)),
    ("Rprop", dict(lr=0.05)),
    ("ASGD", dict(lr=0.05, weight_decay=0.1, t0=5)),
]
IDS = [f"{n}-{i}" for i, (n, _) in enumerate(OPTIMISERS)]


def problem(lib, device=None):
    """Two parameters and a loss of both."""
    rng = np.random.RandomState(0)
    kw = {} if device is None else {"device": device}
    w = lib.tensor(rng.randn(4, 3), dtype=lib.float64, requires_grad=True, **kw)
    b = lib.tensor(rng.randn(3), dtype=lib.float64, requires_grad=True, **kw)
    x = lib.tensor(rng.randn(8, 4), dtype=lib.float64, **kw)
    y = lib.tensor(rng.randn(8, 3), dtype=lib.float64, **kw)
    return [w, b], lambda: ((x @ w + b - y) ** 2).mean()


def walk(lib, name, options, steps=20, device=None):
    params, loss = problem(lib, device)
    opt = getattr(lib.optim, name)(params, **options)
    for _ in range(steps):
        opt.zero_grad()
        loss().backward()
        opt.step()
    return params, opt


@pytest.mark.parametrize("name,options", OPTIMISERS, ids=IDS)
def test_twenty_steps_agree_with_torch(name, options, device):
    torch = pytest.importorskip("torch")
    ours, _ = walk(rl, name, options, device=device)
    theirs, _ = walk(torch, name, options)
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().numpy(), rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("name,options", OPTIMISERS, ids=IDS)
def test_a_saved_optimiser_goes_on_as_before(name, options):
    straight, _ = walk(rl, name, options, 10)
    params, loss = problem(rl)
    opt = getattr(optim, name)(params, **options)
    for i in range(10):
        if i == 5:
            saved = copy.deepcopy(opt.state_dict())
            opt = getattr(optim, name)(params, **options)
            opt.load_state_dict(saved)
        opt.zero_grad()
        loss().backward()
        opt.step()
    # A loaded mu_product or eta has its parameter's dtype, as PyTorch's has: float64 here, no float32 any more.
    rtol = 1e-7 if name in ("NAdam", "ASGD") else 1e-12
    for a, b in zip(params, straight):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_agrees_with_torch(line_search):
    torch = pytest.importorskip("torch")
    ends = []
    for lib in (rl, torch):
        params, loss = problem(lib)
        opt = lib.optim.LBFGS(params, lr=0.5, max_iter=7, line_search_fn=line_search)

        def closure(opt=opt, loss=loss):
            opt.zero_grad()
            value = loss()
            value.backward()
            return value

        for _ in range(3):
            opt.step(closure)
        ends.append([p.detach().numpy() for p in params])
    for a, b in zip(*ends):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
def test_lbfgs_keeps_pytorchs_state(line_search):
    """Its numbers are tensors of the parameters' dtype, rounded as these are."""
    torch = pytest.importorskip("torch")

    def story(lib):
        p = lib.tensor([-1.2, 1.0], requires_grad=True)
        opt = lib.optim.LBFGS([p], max_iter=4, history_size=3, line_search_fn=line_search)

        def closure():
            opt.zero_grad()
            value = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2
            value.backward()
            return value

        for _ in range(2):
            opt.step(closure)
        state = opt.state[p]
        kinds = {k: str(getattr(v, "dtype", type(v))).rpartition(".")[2] for k, v in state.items()}
        kept = [state["H_diag"], *state["ro"], *state["al"]]
        return kinds, [float(v) for v in kept], state["n_iter"], state["func_evals"]

    ours, theirs = story(rl), story(torch)
    assert (ours[0], ours[2:]) == (theirs[0], theirs[2:])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4)


SCHEDULES = [
    ("StepLR", dict(step_size=3, gamma=0.5)),
    ("MultiStepLR", dict(milestones=[2, 5, 5], gamma=0.5)),
    ("ConstantLR", dict(factor=0.5, total_iters=4)),
    ("LinearLR", dict(start_factor=0.25, total_iters=6)),
    ("ExponentialLR", dict(gamma=0.9)),
    ("PolynomialLR", dict(total_iters=8, power=2.0)),
    ("CosineAnnealingLR", dict(T_max=5, eta_min=0.01)),
    ("CosineAnnealingWarmRestarts", dict(T_0=3, T_mult=2)),
    ("LambdaLR", dict(lr_lambda=lambda e: 0.95**e)),
    ("MultiplicativeLR", dict(lr_lambda=lambda e: 0.95)),
    ("OneCycleLR", dict(max_lr=1.0, total_steps=25)),
    ("OneCycleLR", dict(max_lr=1.0, epochs=5, steps_per_epoch=5, three_phase=True, anneal_strategy="linear")),
    ("CyclicLR", dict(base_lr=0.1, max_lr=1.0, step_size_up=4, mode="triangular2")),
    ("CyclicLR", dict(base_lr=0.1, max_lr=1.0, step_size_up=4, step_size_down=2, mode="exp_range", gamma=0.9)),
]


@pytest.mark.parametrize("name,options", SCHEDULES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(SCHEDULES)])
def test_schedule_curves_agree_with_torch(name, options):
    torch = pytest.importorskip("torch")
    curves = []
    for lib in (rl, torch):
        params, _ = problem(lib)
        opt = lib.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.5, momentum=0.9)
        schedule = getattr(lib.optim.lr_scheduler, name)(opt, **options)
        curve = []
        for _ in range(20):
            curve.append([(g["lr"], g["momentum"]) for g in opt.param_groups] + list(schedule.get_last_lr()))
            opt.step()
            schedule.step()
        curves.append(np.array([np.ravel(c[:2]).tolist() + c[2:] for c in curve]))
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-9)


def test_sequential_and_plateau_agree_with_torch():
    torch = pytest.importorskip("torch")
    curves = []
    for lib in (rl, torch):
        s = lib.optim.lr_scheduler
        params, _ = problem(lib)
        opt = lib.optim.SGD(params, lr=0.5)
        sequence = s.SequentialLR(opt, [s.LinearLR(opt, 0.1, total_iters=3), s.ExponentialLR(opt, 0.9)], [3])
        curve = []
        for _ in range(8):
            curve.append(opt.param_groups[0]["lr"])
            opt.step()
            sequence.step()
        opt = lib.optim.SGD(params, lr=0.5)
        plateau = s.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1)
        for value in (1.0, 0.9, 0.9, 0.9, 0.95, 0.95, 0.95, 0.8, 0.85, 0.85, 0.85):
            plateau.step(value)
            curve.append(opt.param_groups[0]["lr"])
        curves.append(curve)
    np.testing.assert_allclose(curves[0], curves[1])


def test_groups_have_their_own_options():
    params, loss = problem(rl)
    opt = optim.SGD([{"params": [params[0]], "lr": 0.0}, {"params": [params[1]]}], lr=0.1)
    before = [p.detach().clone() for p in params]
    loss().backward()
    opt.step()
    assert rl.equal(params[0].detach(), before[0])
    assert not rl.equal(params[1].detach(), before[1])


def test_misuse_is_told():
    params, loss = problem(rl)
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([], lr=0.1)
    with pytest.raises(ValueError, match="non-leaf"):
        optim.SGD([params[0] * 2], lr=0.1)
    with pytest.raises(TypeError, match="iterable of Tensors"):
        optim.SGD(params[0], lr=0.1)
    with pytest.raises(ValueError, match="Invalid learning rate"):
        optim.Adam(params, lr=-1.0)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optim.SGD([{"params": params}, {"params": params[0]}], lr=0.1)
    opt = optim.SGD(params, lr=0.1)
    schedule = optim.lr_scheduler.StepLR(opt, 1)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        schedule.step()


@pytest.mark.parametrize("held", [3, {"step": "a"}])
def test_what_cannot_be_a_state_is_refused_and_nothing_is_lost(held):
    p = rl.nn.Parameter(rl.ones(2))
    p.grad = rl.ones(2)
    opt = rl.optim.Adam([p], lr=0.1)
    opt.step()
    groups, state = opt.param_groups, opt.state[p]
    with pytest.raises((TypeError, ValueError)):
        opt.load_state_dict({**opt.state_dict(), "state": {0: held}})
    assert opt.param_groups is groups and opt.state[p] is state
    opt.step()
    assert opt.state[p]["step"] == 2


def test_step_makes_saved_values_stale():
    params, _ = problem(rl)
    opt = optim.SGD(params, lr=0.1)
    value = (params[0] * params[0]).sum()
    value.backward(retain_graph=True)
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        value.backward()


def test_hooks_and_closure():
    params, loss = problem(rl)
    opt = optim.SGD(params, lr=0.1)
    seen = []
    opt.register_step_pre_hook(lambda o, a, k: seen.append("pre"))
    handle = opt.register_step_post_hook(lambda o, a, k: seen.append("post"))

    def closure():
        opt.zero_grad()
        value = loss()
        value.backward()
        return value

    assert float(opt.step(closure)) > 0
    handle.remove()
    opt.step(closure)
    assert seen == ["pre", "post", "pre"]
