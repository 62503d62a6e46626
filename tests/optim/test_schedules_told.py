"""What schedules tell beside rates: warnings, refusals, groups added later, the names in their files."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

MAKERS = {
    "StepLR": dict(step_size=2, gamma=0.5),
    "MultiStepLR": dict(milestones=[2, 3]),
    "ConstantLR": dict(factor=0.25, total_iters=2),
    "LinearLR": dict(start_factor=0.1, total_iters=5),
    "ExponentialLR": dict(gamma=0.9),
    "CosineAnnealingLR": dict(T_max=6),
    "CosineAnnealingWarmRestarts": dict(T_0=3, T_mult=2),
    "PolynomialLR": dict(total_iters=8),
    "LambdaLR": dict(lr_lambda=lambda e: 0.95**e),
    "MultiplicativeLR": dict(lr_lambda=lambda e: 0.9),
    "OneCycleLR": dict(max_lr=1.0, total_steps=13),
    "CyclicLR": dict(base_lr=0.01, max_lr=0.1, step_size_up=3),
}


def optimiser(lib):
    params = [lib.zeros(n, requires_grad=True) for n in (2, 3)]
    return lib.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}], lr=0.1, momentum=0.9)


def told(call):
    """What a call gives or raises, and the first words of its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except Exception as e:
            result = (type(e).__name__, str(e))
    return result, [(w.category.__name__, str(w.message)[:40]) for w in seen]


def rates(opt):
    return [round(float(g["lr"]), 12) for g in opt.param_groups]


@pytest.mark.parametrize("name", MAKERS)
def test_warnings_and_counts(name):
    def story(lib):
        opt = optimiser(lib)
        s = getattr(lib.optim.lr_scheduler, name)(opt, **MAKERS[name])
        events = [told(s.step), told(s.get_lr), told(lambda: s.step(4)), rates(opt)]
        return events, s._step_count, s.last_epoch

    assert story(rl) == story(torch)


@pytest.mark.parametrize("name", [n for n in MAKERS if n != "OneCycleLR"])
def test_a_group_added_later(name):
    def story(lib):
        opt = optimiser(lib)
        s = getattr(lib.optim.lr_scheduler, name)(opt, **MAKERS[name])
        opt.step()
        opt.add_param_group({"params": [lib.zeros(1, requires_grad=True)], "lr": 0.7})
        return told(s.step), rates(opt)

    assert story(rl) == story(torch)


def test_plateau_reduces_groups_added_later():
    def story(lib, **options):
        opt = optimiser(lib)
        s = lib.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, **options)
        opt.add_param_group({"params": [lib.zeros(1, requires_grad=True)], "lr": 0.7})
        events = [told(lambda: s.step(1.0)) for _ in range(2)] + [told(lambda: s.step(2.0, 7))]
        return events, rates(opt), sorted(s.state_dict())

    assert story(rl) == story(torch)
    ours, theirs = story(rl, min_lr=[0.05, 0.05]), story(torch, min_lr=[0.05, 0.05])
    assert ours[0][1][0][0] == theirs[0][1][0][0] == "RuntimeError"
    assert ours[1] == theirs[1]


def test_sequences_take_no_epoch_and_warn_of_none():
    def story(lib):
        opt = optimiser(lib)
        lr = lib.optim.lr_scheduler
        parts = [lr.LinearLR(opt, 0.1, total_iters=2), lr.CosineAnnealingLR(opt, 9)]
        one = lr.SequentialLR(opt, parts, milestones=[2])
        events = []
        for _ in range(4):  # passes the milestone, where a part is set to its epoch 0
            opt.step()
            events.append((told(one.step), rates(opt)))
        both = lr.ChainedScheduler([lr.ConstantLR(opt, 0.5, 3)])
        return events, told(lambda: one.step(3)), told(lambda: both.step(3)), rates(opt)

    assert story(rl) == story(torch)


def test_one_cycle_goes_on_from_pytorchs_file():
    """The phases are in the file: one that was made for another number of steps has new ones."""

    def story(lib):
        opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        saved = torch.optim.lr_scheduler.OneCycleLR(opt, 1.0, total_steps=8, cycle_momentum=False)
        opt = lib.optim.SGD([lib.zeros(1, requires_grad=True)], lr=0.1)
        s = lib.optim.lr_scheduler.OneCycleLR(opt, 1.0, total_steps=40, cycle_momentum=False)
        s.load_state_dict(saved.state_dict())
        seen = []
        for _ in range(7):
            opt.step()
            s.step()
            seen.append(opt.param_groups[0]["lr"])
        return seen

    assert story(rl) == pytest.approx(story(torch), rel=1e-12)
