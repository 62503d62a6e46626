"""Loops run traced do what they do eager: values, gradients, states, versions, random numbers, errors."""

from __future__ import annotations

import copy
import io
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.capture.loops import report
from rushlight.core import hot
from rushlight.nn import functional as F
from rushlight.runtime.thread import here
from rushlight.utils.checkpoint import checkpoint
from traced import both, run_traced

N = 10


def _net(device: Any = "cpu", dropout: float = 0.0) -> Any:
    layers = [nn.Linear(6, 8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 3)]
    return nn.Sequential(*layers).to(device)


def _batches(n: int = N, size: int = 4, seed: int = 0, device: Any = "cpu") -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [
        (
            rl.tensor(rng.standard_normal((size, 6)).astype("f4")).to(device),
            rl.tensor(rng.integers(0, 3, size)).to(device),
        )
        for _ in range(n)
    ]


def _everything(net: Any, *optimizers: Any) -> list[Any]:
    """Parameters with gradients and versions, buffers, optimisers' states."""
    found: list[Any] = list(net.parameters())
    found += list(net.buffers())
    for o in optimizers:
        for s in o.state.values():
            found += [v for v in s.values() if v is not None]
        found.append([{k: v for k, v in g.items() if k != "params"} for g in o.param_groups])
    return found


def test_a_training_loop(device: Any) -> None:
    def program() -> Any:
        net = _net(device)
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        running, kept = 0.0, []
        for x, y in _batches(device=device):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            running += loss.item()
            kept.append(running)
        return kept, _everything(net, opt), loss

    seen = both(program, replays=N - 5)
    assert len(seen.loops) == 1 and not seen.fallbacks


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_learning_rate_that_is_a_tensor(name: str, device: Any) -> None:
    """Its step was lost: what the tensor holds is known only when it is read."""

    def program() -> Any:
        net = _net(device)
        opt = getattr(optim, name)(net.parameters(), lr=rl.tensor(0.01))
        losses = []
        for x, y in _batches(device=device):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        return losses, list(net.parameters())

    both(program, replays=0)


def test_convolutions_have_eagers_bits() -> None:
    def program() -> Any:
        rl.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(216, 4))
        opt = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        losses = []
        for _ in range(N):
            x, y = rl.randn(4, 3, 16, 16), rl.randint(0, 4, (4,))
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            losses.append(loss.item())
        return losses, _everything(net, opt)

    both(program, exact=True)


def test_reads_before_backward_and_now_and_then(device: Any) -> None:
    def program(every: int) -> Any:
        net = _net(device)
        opt = optim.Adam(net.parameters(), lr=0.01)
        seen = []
        for i, (x, y) in enumerate(_batches(40, device=device)):
            opt.zero_grad(set_to_none=bool(i % 3))
            loss = F.cross_entropy(net(x), y)
            if i % every == every - 1:
                seen.append(loss.item())
            loss.backward()
            opt.step()
        return seen, _everything(net, opt)

    both(program, 1)
    both(program, 5)


def test_tensors_kept_in_lists_and_read_later(device: Any) -> None:
    def program() -> Any:
        net = _net(device)
        opt = optim.SGD(net.parameters(), lr=0.1)
        losses, outs, grads = [], [], []
        for x, y in _batches(device=device):
            opt.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            grads.append(net[0].weight.grad)
            opt.step()
            losses.append(loss)
            outs.append(out.detach())
        return [float(v) for v in losses], losses, outs, grads, _everything(net, opt)

    both(program, replays=4)


def test_a_hidden_value_kept_only_once(device: Any) -> None:
    """A path's program does not compute what nobody held; when somebody does, the stretch falls back."""

    def program() -> Any:
        net, kept = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(_batches(12, device=device)):
            hidden = net[1](net[0](x))
            if i == 8:
                kept.append(hidden)
            loss = F.cross_entropy(net[3](hidden), y)
            del hidden
            opt.zero_grad()
            loss.backward()
            opt.step()
        return kept, _everything(net, opt)

    seen = both(program, replays=3)
    assert seen.fallbacks


def test_gradient_accumulation(device: Any) -> None:
    def program() -> Any:
        net, total = _net(device), 0.0
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        for i, (x, y) in enumerate(_batches(24, device=device)):
            loss = F.cross_entropy(net(x), y) / 3
            loss.backward()
            total += loss.item()
            if i % 3 == 2:
                opt.step()
                opt.zero_grad()
        return total, _everything(net, opt)

    both(program, replays=5)


def test_two_optimisers(device: Any) -> None:
    def program() -> Any:
        g, d = nn.Linear(4, 6).to(device), _net(device)
        og, od = optim.Adam(g.parameters(), lr=0.01), optim.Adam(d.parameters(), lr=0.01)
        seen = []
        for x, _ in _batches(14, device=device):
            noise = rl.randn(4, 4, device=device)
            fake = g(noise)
            d_loss = d(x).mean() - d(fake.detach()).mean()
            od.zero_grad()
            d_loss.backward()
            od.step()
            g_loss = -d(fake).mean()
            og.zero_grad()
            g_loss.backward()
            og.step()
            seen.append((d_loss.item(), g_loss.item()))
        return seen, _everything(g, og), _everything(d, od)

    both(program, replays=10)


def test_schedulers_and_clipping(device: Any) -> None:
    def program(make: Any) -> Any:
        net, seen = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        schedule = make(opt)
        for x, y in _batches(14, device=device):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            schedule.step()
            seen.append((loss.item(), schedule.get_last_lr()))
        return seen, _everything(net, opt)

    both(program, lambda o: optim.lr_scheduler.StepLR(o, 3, 0.5), replays=5)
    both(program, lambda o: optim.lr_scheduler.OneCycleLR(o, 0.2, total_steps=20), replays=5)


def test_hooks_that_come_and_go(device: Any) -> None:
    def program() -> Any:
        net, seen = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        handle = None
        for i, (x, y) in enumerate(_batches(16, device=device)):
            if i == 7:
                handle = net[0].weight.register_hook(lambda g: seen.append(float(g.sum())) or g * 2)
            if i == 10:
                handle.remove()
            if i == 12:
                net[1].register_forward_hook(lambda m, a, out: out * 1.5)
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen, _everything(net, opt)

    both(program, replays=3)


def test_writes_by_the_user(device: Any) -> None:
    def program() -> Any:
        net, seen = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(_batches(30, device=device)):
            x.mul_(2)
            out = net(x)
            out2 = out.clone()
            out2[0] = 0
            loss = F.cross_entropy(out2, y)
            opt.zero_grad()
            loss.backward()
            if i % 2:
                net[0].weight.grad.zero_()
            opt.step()
            with rl.no_grad():
                net[3].bias.clamp_(-0.05, 0.05)
            seen.append(loss.item())
        return seen, x, out2, _everything(net, opt)

    both(program, replays=2)


@pytest.mark.parametrize("when", [-1, 0, 1, 2])
@pytest.mark.parametrize("gaps", [False, True])
def test_inputs_that_numpy_shows_are_compared(when: int, gaps: bool) -> None:
    """Twelve iterations are alike; then the data change between two ops, once, at each of three places."""

    def program() -> Any:
        first, second = np.ones((4, 12), np.float32), np.ones((4, 6), np.float32)
        x, z = (rl.from_numpy(first)[:, ::2] if gaps else rl.from_numpy(first[:, :6].copy()), rl.from_numpy(second))
        data = x.numpy()  # the memory of x, with gaps or without
        net, seen = _net(), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i in range(16):
            out = net[0](x)
            if i == 12 and when == 0:
                data += 1
            out = out + net[0](z)
            if i == 12 and when == 1:
                second[0] = 3
            loss = (out + net[0](x)).mean()
            if i == 12 and when == 2:
                data[1] = 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen, _everything(net, opt)

    both(program, replays=4)


def test_an_error_comes_from_its_own_line() -> None:
    def program() -> Any:
        net, seen = _net(), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(_batches(12)):
            try:
                opt.zero_grad()
                if i == 8:
                    y = y + 5
                if i == 10:
                    x = x[:, :4]
                out = net(x)
                loss = F.cross_entropy(out, y)
                loss.backward()
                opt.step()
                seen.append(loss.item())
            except Exception as error:  # noqa: BLE001
                tb = error.__traceback__
                seen.append((type(error).__name__, str(error), tb.tb_lineno if tb else 0))
        return seen, _everything(net, opt)

    both(program, replays=3)


def test_backward_twice_and_changed_in_place(device: Any) -> None:
    def program() -> Any:
        net, seen = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(_batches(12, device=device)):
            h = net[0](x).tanh()
            loss = net[3](h).sum()
            if i == 8:
                h.add_(1)
            try:
                opt.zero_grad()
                loss.backward()
                if i == 9:
                    loss.backward()
            except RuntimeError as error:
                seen.append(str(error)[:60])
            opt.step()
            seen.append(loss.item())
        return seen, _everything(net, opt)

    both(program, replays=2)


def test_checkpoints_in_between(device: Any) -> None:
    def program() -> Any:
        net, files = _net(device), []
        opt = optim.Adam(net.parameters(), lr=0.1)
        for i, (x, y) in enumerate(_batches(14, device=device)):
            opt.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            if i % 4 == 3:
                file = io.BytesIO()
                rl.save({"net": net.state_dict(), "loss": loss.detach(), "grad": net[0].weight.grad}, file)
                files.append(file)
            opt.step()
            if i == 9:
                net.load_state_dict(rl.load(io.BytesIO(files[0].getvalue()))["net"])
        return [rl.load(io.BytesIO(f.getvalue())) for f in files], _everything(net, opt)

    both(program, replays=3)


def test_compiled_functions_inside(device: Any) -> None:
    def program() -> Any:
        net, head, seen = _net(device), nn.Linear(3, 3).to(device), []
        opt = optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        fast = rl.compile(head)
        for x, y in _batches(16, device=device):
            opt.zero_grad()
            loss = F.cross_entropy(fast(net(x)), y)
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen, _everything(net, opt), list(head.parameters())

    both(program, replays=0)


def test_own_functions_and_grad_of_grad(device: Any) -> None:
    class Twice(rl.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensors[0]

    def program() -> Any:
        net, seen = _net(device), []
        opt = optim.SGD(net.parameters(), lr=0.05)
        for x, _ in _batches(12, device=device):
            x.requires_grad_()
            out = Twice.apply(net(x)).sum()
            (gx,) = rl.autograd.grad(out, x, create_graph=True)
            loss = out * 0.1 + gx.pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen, _everything(net, opt)

    both(program, replays=2)


def test_tracing_can_be_switched_off() -> None:
    assert rl.tracing() is False
    _, seen = run_traced(lambda: [rl.ones(3).sum().item() for _ in range(9)])
    assert rl.tracing() is False and seen.replayed == 0


@pytest.mark.parametrize("gone", [10, 20])
def test_a_bias_that_was_seen_and_is_gone(gone: int) -> None:
    """An operand that is None is no input that has not been met yet."""

    def program() -> Any:
        layer, seen = nn.Linear(4, 4), []
        shown = layer.bias.detach().numpy()
        for n in range(30):
            if n == gone:
                layer.bias = None
            h = (rl.full((3, 4), float(n)) * 0.5 + 1).tanh()
            seen.append(layer(h).sum().item())
        return seen, shown.tolist()

    both(program, replays=3)


def test_without_its_part_in_c_a_loop_runs_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rushlight.capture.in_c.native", None)
    monkeypatch.setattr(hot.meeting, "barred", None)
    x, seen = rl.ones(3), []
    before = rl.tracing(True)
    for n in range(9):
        seen.append(((x + n) * 2).sum().item())
    said = report.table(here.tracer)
    rl.tracing(before)
    assert seen == [6.0 * (1 + n) for n in range(9)]
    assert said == "tracing: no loop was found: its part in C was not built here."


@pytest.mark.parametrize(
    ("words", "trace", "explain", "left"),
    [
        (["--explain", "a.py", "--trace"], True, True, ["a.py", "--trace"]),
        (["--trace", "a.py"], True, False, ["a.py"]),
        (["a.py", "--explain"], None, False, ["a.py", "--explain"]),
        (["--no-trace", "a.py"], False, False, ["a.py"]),
        (["--explain", "--no-trace", "a.py"], False, False, ["a.py"]),
    ],
)
def test_options_of_run(
    monkeypatch: pytest.MonkeyPatch, words: list[str], trace: bool | None, explain: bool, left: list[str]
) -> None:
    from rushlight.base.config import settings
    from rushlight.cli.scripts import tracing

    monkeypatch.setattr(settings, "trace", "")
    monkeypatch.setattr(tracing, "_asked", {"trace": None, "explain": False})
    assert tracing.take_options(words) == left
    assert tracing._asked == {"trace": trace, "explain": explain}


def test_the_environment_forbids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rushlight.base.config.settings.trace", "0")
    rl.tracing(True)
    assert rl.tracing() is False


def test_a_read_inside_of_a_step_calls_the_tracer_once() -> None:
    """The step is a place, too, and ends when the tracer is at work already: none is left listening."""

    def program() -> list[float]:
        net = nn.Linear(4, 2)
        optimizer = rl.optim.SGD(net.parameters(), lr=0.1)
        x, seen = rl.ones(3, 4), []

        def closure() -> rl.Tensor:
            optimizer.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            seen.append(loss.item())
            return loss

        for _ in range(12):
            optimizer.step(closure)
        return seen

    both(program, replays=1, exact=True)
    assert not here.listeners


# -- loops that a debugger looks at: a frame that was looked at keeps references, by which nobody may be misled


WATCHED = 20


def _look(frame: Any, event: str, what: Any) -> Any:
    """A debugger that looks at the variables of every frame, at every line."""
    frame.f_locals.get("t")
    return _look


WATCHERS: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "trace": (sys.gettrace, sys.settrace),
    "profile": (sys.getprofile, sys.setprofile),
}


@pytest.mark.parametrize("kind", WATCHERS)
@pytest.mark.parametrize("whole", [False, True])
def test_every_frame_is_looked_at(kind: str, whole: bool) -> None:
    """Frames of one forward pass in each iteration, or of all iterations but the last ones."""
    get, put = WATCHERS[kind]

    def program() -> Any:
        net, seen, before = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)), [], get()
        opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        try:
            for i, x in enumerate(rl.randn(WATCHED, 4, 6)):
                if whole and i < 13:
                    put(_look)
                opt.zero_grad()
                loss = F.cross_entropy(net(x), rl.tensor([0, 1, 2, 0]))
                loss.backward()
                opt.step()
                put(before if whole else _look)
                seen.append(net(x).detach())
                put(before)
                seen.append(loss.item())
        finally:
            put(before)
        return seen, list(net.parameters())

    both(program, replays=1)


# -- random streams in traced loops: whoever looks at a stream's state finds what eager would have drawn so far


DRAWS = 14


def _forked(t: Any) -> Any:
    with rl.random.fork_rng():
        return F.dropout(t, 0.5) + rl.rand(6)


def _checkpointed(t: Any) -> Any:
    x = t.detach().requires_grad_()
    out = checkpoint(lambda v: F.dropout(v.tanh(), 0.5), x, use_reentrant=False)
    F.dropout(out, 0.5).sum().backward()
    return x.grad


def _mapped(randomness: str) -> Callable[[Any], Any]:
    def call(t: Any) -> Any:
        try:
            return rl.vmap(lambda row: F.dropout(row, 0.5), randomness=randomness)(t)
        except RuntimeError as error:
            return str(error)

    return call


ACTIONS: dict[str, Callable[[Any], Any]] = {
    "fork_rng": _forked,
    "checkpoint": _checkpointed,
    "vmap, nothing drawn": lambda t: rl.vmap(lambda row: row * 2)(t),
    "vmap, error": _mapped("error"),
    "vmap, same": _mapped("same"),
    "vmap, different": _mapped("different"),
    "deepcopy of a generator": lambda t: rl.rand(3, generator=copy.deepcopy(rl.default_generator)),
    "pickle of a generator": lambda t: rl.rand(3, generator=pickle.loads(pickle.dumps(rl.default_generator))),
    "manual_seed": lambda t: str(rl.manual_seed(3)),
    "seed": lambda t: rl.initial_seed(),
}


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("name", ACTIONS)
def test_streams_are_those_of_eager(name: str, always: bool) -> None:
    """In the middle of a stretch in which dropout's numbers are still to be drawn; now and then, or each time."""

    def program() -> Any:
        told: list[Any] = []
        for i, x in enumerate([rl.randn(4, 6) for _ in range(DRAWS)]):
            out = F.dropout((x * 2).tanh(), 0.5) + x.mean()
            if always or i in (8, 11):
                told.append(ACTIONS[name](out.detach()))
            told.append(F.dropout(out, 0.25).sum().item())
        return told

    both(program, replays=0 if always else 3)
