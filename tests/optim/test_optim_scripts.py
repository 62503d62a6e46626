"""Random optimiser scripts against PyTorch: 500 lives, skipped steps and compiled ones among them."""

from __future__ import annotations

import warnings

import pytest

import rushlight as rl
from optim_scripts import MENU, ROWS_MENU, RowsScript, Script

CHUNK = 20


@pytest.mark.parametrize("first", range(0, 500, CHUNK))
def test_random_scripts_agree_with_torch(first):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # schedules complain, in both libraries alike
        for seed in range(first, first + CHUNK):
            Script(seed, (rl, torch)).run()


def test_scripts_reach_every_optimiser_of_torch():
    torch = pytest.importorskip("torch")
    known = {n for n in dir(torch.optim) if isinstance(getattr(torch.optim, n), type)}
    assert known - {"Optimizer"} == set(MENU) | set(ROWS_MENU)


@pytest.mark.parametrize("first", range(0, 60, CHUNK))
def test_random_scripts_of_sparse_gradients_agree_with_torch(first):
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + CHUNK):
            RowsScript(seed, (rl, torch)).run()


def test_a_count_that_is_a_python_number_stays_one_when_it_is_loaded():
    """SparseAdam counts in Python, as do optimisers of others; a float32 would round their corrections."""

    class Counting(rl.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        def step(self, closure=None):
            for p in self.param_groups[0]["params"]:
                self.state[p]["step"] = self.state[p].get("step", 0) + 1

    w = rl.nn.Parameter(rl.ones(4, 2, dtype=rl.float64))
    w.grad = rl.sparse_coo_tensor(rl.tensor([[1]]), rl.ones(1, 2, dtype=rl.float64), (4, 2))
    for kind in (rl.optim.SparseAdam, Counting):
        opt = kind([w])
        opt.step()
        opt.load_state_dict(opt.state_dict())
        assert type(opt.state[w]["step"]) is int
    old = rl.optim.Adam([w])
    old.load_state_dict({"state": {0: {"step": 3, "exp_avg": w, "exp_avg_sq": w}}, "param_groups": old.state_dict()["param_groups"]})  # fmt: skip
    assert old.state[w]["step"].dtype is rl.float32  # as in files of older versions


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "ASGD", "Adafactor"])
def test_a_parameter_that_skips_steps_counts_its_own(name):
    torch = pytest.importorskip("torch")
    ends = []
    for lib in (rl, torch):
        a, b = (lib.nn.Parameter(lib.ones(1, 2)) for _ in range(2))
        opt = getattr(lib.optim, name)([a, b], lr=0.1)
        for i in range(12):
            a.grad = lib.ones(1, 2)
            b.grad = lib.ones(1, 2) if i in (0, 10, 11) else None
            opt.step()
        ends.append((a.detach().numpy(), b.detach().numpy(), *[opt.state[p]["step"].item() for p in (a, b)]))
        assert opt.state[a]["step"] is not opt.state[b]["step"]
    assert ends[0][2:] == ends[1][2:] == (12.0, 3.0)
    assert abs(ends[0][0] - ends[1][0]).max() < 1e-6 and abs(ends[0][1] - ends[1][1]).max() < 1e-6


@pytest.mark.parametrize("name", ["Adam", "NAdam", "ASGD", "SGD"])
def test_a_compiled_step_counts_for_each_parameter(name, device):
    """Eager steps of some parameters between compiled steps of all: each keeps its own count."""

    def life(compiled: bool) -> list:
        params = [rl.nn.Parameter(rl.ones(3, device=device)) for _ in range(3)]
        opt = getattr(rl.optim, name)(params, lr=0.1)

        def step(x):
            opt.zero_grad()
            sum((p * p * x).sum() for p in params).backward()
            opt.step()

        run = rl.compile(step) if compiled else step
        for i in range(9):
            if i in (4, 6):
                for p in params:
                    p.grad = None
                params[1].grad = rl.ones(3, device=device)
                opt.step()
            if i == 5:
                opt.param_groups[0]["lr"] = 0.03
            run(rl.full((3,), 1.0 + i, device=device))
        held = [opt.state[p]["step"].item() for p in params if "step" in opt.state[p]]
        return [*[p.detach().cpu().tolist() for p in params], held]

    for a, b in zip(life(True), life(False)):
        assert a == pytest.approx(b, rel=1e-6)
