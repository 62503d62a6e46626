"""`backward()` and `step()` are one comparison each: whatever they depend on is changed in the middle of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.capture.outlets import Pool
from rushlight.nn import functional as F
from traced import both

N = 16
ADAM, SGD = "Adam", "SGD"


class World:
    """A network in training, and what a change may reach."""

    def __init__(self, kind: str) -> None:
        self.net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
        self.made = self._optimizer(kind)
        self.opt = self.made
        self.handles: list[Any] = []
        self.seen: list[Any] = []
        self.keep = False
        self.w: Any = self.net[0].weight
        self.b: Any = self.net[2].bias

    def _optimizer(self, kind: str) -> Any:
        groups = [{"params": self.net[0].parameters()}, {"params": self.net[2].parameters(), "lr": 0.05}]
        if kind == ADAM:
            return optim.Adam(groups, lr=0.01)
        return optim.SGD(groups, lr=0.1, momentum=0.9)

    def note(self, what: str, g: Any) -> None:
        self.seen.append((what, g.detach().clone()))


def _swap_state(w: World) -> None:
    """The states of two parameters of one shape change places."""
    extra = nn.Parameter(rl.ones(8, 6))
    w.opt.state[extra] = w.opt.state[w.w]


def _other_list(w: World) -> None:
    w.opt.param_groups[0]["params"] = list(reversed(w.opt.param_groups[0]["params"]))


def _share_gradient(w: World) -> None:
    w.b.grad = rl.ones(3)
    w.seen.append(w.b.grad)


def _load(w: World) -> None:
    w.opt.load_state_dict(w.opt.state_dict())


def _strided_gradient(w: World) -> None:
    w.w.grad = rl.ones(6, 8).t()


CHANGES: dict[str, Callable[[World], Any]] = {
    # hooks
    "hook of a parameter": lambda w: w.handles.append(w.w.register_hook(lambda g: g * 0.5)),
    "hook that looks": lambda w: w.handles.append(w.w.register_hook(lambda g: w.note("w", g))),
    "hook after accumulation": lambda w: w.handles.append(
        w.b.register_post_accumulate_grad_hook(lambda p: w.note("b", p.grad))
    ),
    "hook that writes the gradient": lambda w: w.handles.append(
        w.b.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(0.5))
    ),
    "hooks go": lambda w: w.handles and w.handles.pop().remove(),
    "forward hook": lambda w: w.handles.append(w.net[1].register_forward_hook(lambda m, a, o: o * 2)),
    "backward hook of a module": lambda w: w.handles.append(
        w.net[2].register_full_backward_hook(lambda m, gi, go: w.note("gi", go[0]))
    ),
    "step pre hook": lambda w: w.handles.append(w.opt.register_step_pre_hook(lambda o, a, k: w.note("pre", w.w.grad))),
    "step post hook": lambda w: w.handles.append(w.opt.register_step_post_hook(lambda o, a, k: w.note("post", w.w))),
    # gradients
    "gradient none": lambda w: setattr(w.w, "grad", None),
    "gradient set": lambda w: setattr(w.w, "grad", rl.ones(8, 6)),
    "gradient with other strides": _strided_gradient,
    "gradient kept by the user": _share_gradient,
    "gradient of a parameter that had none": lambda w: setattr(w.b, "grad", rl.ones(3)),
    "gradient written": lambda w: w.w.grad is not None and w.w.grad.zero_(),
    # requires_grad, data
    "frozen": lambda w: w.w.requires_grad_(False),
    "thawed": lambda w: w.w.requires_grad_(True),
    "data replaced": lambda w: setattr(w.w, "data", rl.ones(8, 6) * 0.1),
    "data written": lambda w: w.w.data.mul_(0.5),
    "parameter replaced": lambda w: setattr(w.net[0], "weight", nn.Parameter(rl.ones(8, 6) * 0.1)),
    # groups
    "lr": lambda w: w.opt.param_groups[0].update(lr=0.5),
    "lr a tensor": lambda w: w.opt.param_groups[0].update(lr=rl.tensor(0.25)),
    "lr an int": lambda w: w.opt.param_groups[0].update(lr=0),
    "lr negative zero": lambda w: w.opt.param_groups[0].update(lr=-0.0),
    "weight decay": lambda w: w.opt.param_groups[0].update(weight_decay=0.1),
    "maximize": lambda w: w.opt.param_groups[1].update(maximize=True),
    "maximize by a number": lambda w: w.opt.param_groups[1].update(maximize=1),
    "a group goes": lambda w: w.opt.param_groups.pop(),
    "groups change places": lambda w: w.opt.param_groups.reverse(),
    "a group replaced": lambda w: w.opt.param_groups.__setitem__(0, dict(w.opt.param_groups[0])),
    "a parameter goes": lambda w: w.opt.param_groups[0]["params"].pop(),
    "parameters change places": _other_list,
    "a parameter comes": lambda w: w.opt.add_param_group({"params": [nn.Parameter(rl.ones(2))]}),
    "an unknown option": lambda w: w.opt.param_groups[0].update(mine=[1]),
    # state
    "state cleared": lambda w: w.opt.state.clear(),
    "state of one": lambda w: w.opt.state.pop(w.w, None),
    "state written": lambda w: [s.mul_(0.5) for s in w.opt.state[w.w].values() if s is not None],
    "state replaced": lambda w: w.opt.state[w.w].update(
        {k: v.clone() for k, v in w.opt.state[w.w].items() if v is not None}
    ),
    "state dict another": lambda w: w.opt.state.__setitem__(w.w, dict(w.opt.state[w.w])),
    "state beside": _swap_state,
    "state and groups loaded": _load,
    # the optimiser
    "step patched": lambda w: setattr(w.opt, "step", lambda: w.seen.append("no step")),
    "another optimiser": lambda w: setattr(w, "opt", optim.SGD(w.net.parameters(), lr=0.2)),
    "the first one again": lambda w: setattr(w, "opt", w.made),
    "the graph is kept": lambda w: setattr(w, "keep", True),
}
OF_SGD: dict[str, Callable[[World], Any]] = {
    "momentum": lambda w: w.opt.param_groups[0].update(momentum=0.5),
    "momentum zero": lambda w: w.opt.param_groups[0].update(momentum=0),
    "nesterov": lambda w: w.opt.param_groups[0].update(nesterov=True),
    "dampening": lambda w: w.opt.param_groups[0].update(dampening=0.5),
}
OF_ADAM: dict[str, Callable[[World], Any]] = {
    "betas": lambda w: w.opt.param_groups[0].update(betas=(0.5, 0.6)),
    "amsgrad": lambda w: w.opt.param_groups[0].update(amsgrad=False),
    "eps": lambda w: w.opt.param_groups[0].update(eps=1e-3),
    "step set back": lambda w: w.opt.state[w.w]["step"].zero_(),
    "step replaced": lambda w: w.opt.state[w.w].update(step=rl.tensor(3.0)),
    "step a number": lambda w: w.opt.state[w.w]["step"].fill_(7),
}
TABLES = {SGD: CHANGES | OF_SGD, ADAM: CHANGES | OF_ADAM}
CASES = [(kind, what) for kind, table in TABLES.items() for what in table]


def _train(kind: str, what: str, when: str, set_to_none: bool) -> Any:
    w = World(kind)
    xs = [rl.randn(4, 6) for _ in range(N)]
    ys = [rl.randint(0, 3, (4,)) for _ in range(N)]
    change = TABLES[kind][what]

    def maybe(place: str) -> None:
        if when == place and i in (7, 12):
            try:
                change(w)
            except Exception as error:  # noqa: BLE001 - the same on both sides
                w.seen.append(type(error).__name__)

    for i in range(N):
        try:
            maybe("begin")
            w.opt.zero_grad(set_to_none=set_to_none)
            loss = F.cross_entropy(w.net(xs[i]), ys[i])
            maybe("backward")
            loss.backward(retain_graph=w.keep)
            maybe("step")
            w.opt.step()
            w.seen.append(loss.item())
        except Exception as error:  # noqa: BLE001 - the same on both sides
            w.seen.append(f"{type(error).__name__}: {error}"[:80])
    states = [[v for v in s.values() if v is not None] for s in w.made.state.values()]
    groups = [{k: v for k, v in g.items() if k != "params"} | {"n": len(g["params"])} for g in w.made.param_groups]
    return w.seen, list(w.net.parameters()), states, groups, w.w, w.b


@pytest.mark.parametrize("when", ["begin", "backward", "step"])
@pytest.mark.parametrize("kind, what", CASES, ids=[f"{k}-{what.replace(' ', '_')}" for k, what in CASES])
def test_a_change_in_the_middle(kind: str, what: str, when: str) -> None:
    both(_train, kind, what, when, when != "backward", replays=2)


@pytest.mark.parametrize("kind", [SGD, ADAM])
def test_without_a_change_they_are_replayed(kind: str) -> None:
    """What the cases above change is really one comparison: forward's calls, one for backward, one for the step."""
    seen = both(_train, kind, "lr", "never", True, replays=N - 5)
    assert not seen.fallbacks and [row["events"] for row in seen.loops] == [6]


def test_an_option_is_another_tensor_each_time() -> None:
    """To compare two tensors is to compute, which must not happen in the middle of a comparison."""

    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for i, x in enumerate(rl.randn(30, 4, 6)):
            opt.param_groups[0]["lr"] = rl.tensor(0.1 + i % 3)
            opt.zero_grad()
            loss = net(x).tanh().pow(2).mean()
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen, list(net.parameters())

    both(program, replays=0)


@pytest.mark.parametrize("reads", [1, 3])
def test_a_state_that_gets_a_version_counter(reads: int) -> None:
    """A state that the user has written has a counter from then on, which each step raises."""

    def program() -> Any:
        net, seen = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), []
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for i, x in enumerate(rl.randn(20, 4, 6)):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            loss.backward()
            opt.step()
            if i in (7, 8, 13):
                for state in opt.state.values():
                    state["momentum_buffer"].mul_(0.5)
            if i % reads == reads - 1:
                seen.append(loss.item())
        return seen, [state["momentum_buffer"] for state in opt.state.values()]

    both(program, replays=2)


@pytest.mark.parametrize("where", ["between", "inside"])
def test_settings_that_decide_how_kernels_compute(where: str) -> None:
    """A program is made for some settings; kernels that wait are computed before another value is set."""

    def program() -> Any:
        rl.use_deterministic_algorithms(False)
        net, seen = nn.Linear(6, 3), []
        for i, x in enumerate(rl.randn(30, 4, 6)):
            if i == 10 and where == "between":
                rl.use_deterministic_algorithms(True)
            y = net(x).tanh() * 2
            if i in (20, 22) and where == "inside":
                rl.set_float32_matmul_precision("high" if i == 20 else "highest")
            seen.append((y + 1).sum().item())
        return seen

    try:
        seen = both(program, replays=10)
    finally:
        rl.use_deterministic_algorithms(False)
        rl.set_float32_matmul_precision("highest")
    if where == "between":
        assert len(seen.loops) == 2  # heard again
    else:
        assert {why for why, _ in seen.fallbacks} == {"a setting was changed"}


def test_memory_runs_out_where_a_gradient_would_be_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the pass is walked as it is; nothing was changed before."""
    failing = [False]
    blank = Pool.blank

    def fail(slot: Any) -> Any:
        if failing[0]:
            raise MemoryError("no memory left")
        return blank(slot)

    monkeypatch.setattr(Pool, "blank", staticmethod(fail))

    def program() -> Any:
        net, seen, kept = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), [], []
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        for i, x in enumerate(rl.randn(N, 4, 6)):
            opt.zero_grad()
            loss = net(x).pow(2).mean()
            failing[0] = i in (8, 12)
            loss.backward()
            failing[0] = False
            kept.extend([p.grad for p in net.parameters()])  # so that new arrays are needed
            opt.step()
            seen.append(loss.item())
        return seen, kept, list(net.parameters())

    seen = both(program, replays=5)
    assert any("no memory left" in why for why, _ in seen.fallbacks)
