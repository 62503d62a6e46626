"""What loops and traced functions keep and update on the (emulated) GPU.

Kept views keep their values; states that lie in another way than their parameters are brought up to date.
On a machine with a GPU: PYTHONPATH=src:tools python tests/emulated/emulated_loops.py
"""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "capture"))

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.capture.loops import ahead
from rushlight.capture.loops.in_calls import TracedCalls
from rushlight.core.hot import meeting
from rushlight.runtime.thread import here
from test_compile_strided import PICKS, WAYS


def traced(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function with Python in every call, its kernels matched and run as programs."""
    tracer = TracedCalls(fn, "testing")
    return lambda *args: tracer(args, {})


def compare(a: list[Any], b: list[Any], near: float = 1e-6) -> None:
    assert len(a) == len(b)
    for i, (x, y) in enumerate(zip(a, b)):
        np.testing.assert_allclose(x.cpu().numpy(), y.cpu().numpy(), 1e-5, near, err_msg=str(i))


def kept_views(loops: bool) -> list[Any]:
    """Views of results that are views themselves: CuPy's `tile` answers one, which `repeat` hands on."""
    rl.tracing(loops)
    kept = []
    for i in range(16):
        y = rl.tensor(np.full((2, 2), i / 8, np.float32)).to("cuda").repeat(1, 2)
        z = (y * 2).exp() + y
        kept += [y[1:].detach(), z.t().detach()]
        if float(z[0, 0]) < 0:
            break
    if loops:
        assert sum(loop["replayed"] for loop in here.tracer.report.loops), "nothing was replayed"
    rl.tracing(False)
    return kept


def layouts_of_joined(wrap: Callable[[Any], Any] | None, loops: bool) -> list[Any]:
    """How results of steps that a program joins lie: as the last of the steps would lay them out."""
    rl.manual_seed(0)
    weight = rl.randn(4, 4).to("cuda")
    rl.tracing(loops)

    def steps(x: Any) -> Any:
        joined = x - (x @ weight) * 0.5
        return joined, int((joined > 0).sum())

    run, told = steps if wrap is None else wrap(steps), []
    for i in range(16):
        x = rl.tensor(np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - i % 5).to("cuda").t()
        joined, count = run(x)
        told.append((joined.stride(), (joined * 1).stride(), count))
        del joined
    rl.tracing(False)
    return told


def draws_behind_joined(loops: bool) -> list[Any]:
    """Draws go by where numbers lie, so that what is dropped shows how a joined kernel laid out its result."""
    rl.manual_seed(0)
    rows = rl.randn(3, 4).to("cuda")
    rl.tracing(loops)
    told = []
    for i in range(12):
        x = rl.tensor(np.full((4, 3), 1 + i % 5, np.float32)).to("cuda").t()
        y = rl.nn.functional.dropout(rows + x * 0.5, 0.5)
        told.append([y.stride(), y.tolist()])
    rl.tracing(False)
    return told


def strided_arguments(wrap: Callable[[Any], Any]) -> list[Any]:
    """Arguments that begin elsewhere in their memory, seen by `as_strided` (tests/capture/test_compile_strided.py)."""
    told = []
    for way in WAYS.values():
        step, x = wrap(way), rl.ones(3, 4).to("cuda")
        memory = rl.arange(100.0).to("cuda").reshape(25, 4)
        for pick in PICKS:
            told.append([(t.tolist(), t.stride()) for t in step(x, pick(memory))])
        told.append(memory.tolist())
    return told


def views_by_compiled(wrap: Callable[[Any], Any]) -> list[Any]:
    """Views that a compiled function gives of a result of another one, which is dropped."""
    part = rl.compile(lambda t: (t.detach(), t * 1))

    def make(x: Any) -> Any:
        return (x * 2).exp() + x if float(x[0, 0]) >= 0 else x * 3

    run, kept = wrap(make), []
    for i in range(9):
        kept.append(part(run(rl.tensor(np.full((2, 2), i / 8, np.float32)).to("cuda")))[0])
    assert part.replays, part.why()
    return kept


def other_layouts(optimizer: str, wrap: Callable[[Any], Any], device: str = "cuda") -> list[Any]:
    """A parameter that lies in another way than its states, and numbers of the host that change."""
    rl.manual_seed(0)
    p, q = [nn.Parameter(rl.arange(12.0).reshape(3, 4).to(device) / d) for d in (10, 7)]
    how = {"lr": 0.05, "momentum": 0.5} if optimizer == "SGD" else {"lr": 0.05}
    opt = getattr(rl.optim, optimizer)([p, q], **how)

    def step(x: Any) -> Any:
        opt.zero_grad()
        loss = ((x * p).tanh() * q).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    run, found = wrap(step), []
    for i in range(12):
        if i == 3:
            p.data = p.data.t().contiguous().t()
        if i == 9:
            opt.param_groups[0]["lr"] = 0.5
        if i == 6:  # with gaps
            q.data = rl.stack([q.data, q.data], -1)[..., 0]
        found.append(run(rl.full((3, 4), 0.1 * i, device=device)))
    return [*found, p.detach(), q.detach()]


class Tagged(rl.Tensor):
    pass


class Seeing(rl.overrides.TorchFunctionMode):
    """Writes down the names of the functions that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def classes_are_asked(device: str) -> list[Any]:
    """What layers that have one kernel on a GPU answer to classes of users, and what modes see of them."""
    x = rl.arange(24.0, device=device).reshape(2, 4, 3) / 7
    layers = [nn.BatchNorm1d(4), nn.GroupNorm(2, 4), nn.LayerNorm(3), nn.Linear(3, 2), nn.Dropout(0.0), nn.GLU(1)]
    found: list[Any] = []
    for layer in layers:
        layer.to(device)
        given = x.clone().as_subclass(Tagged)
        found.append(type(layer(given)).__name__)
        with Seeing() as seeing:
            layer(x)
        found.append(seeing.names)
    layers[0].weight = nn.Parameter(rl.ones(4, device=device).as_subclass(Tagged))
    return [*found, type(layers[0](x)).__name__]


def memory_goes() -> None:
    """The memory of a loop's program goes when tracing ends: nobody waits for Python to look for cycles."""
    layers = [nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3)]
    net = nn.Sequential(*layers).to("cuda")
    x = rl.ones(3, 4).to("cuda")

    def step(x: Any) -> Any:
        net.zero_grad()
        loss = net(x).sum()
        loss.backward()
        return loss

    before, ahead._LEAST = ahead._LEAST, 0.0  # a program of two graphs
    rl.tracing(True)
    gc.collect()
    gc.disable()
    for _ in range(12):
        float(step(x))
    programs = [weakref.ref(p.low) for p in here.tracer.paths]
    assert programs and any(p.ahead is not None for p in here.tracer.paths)
    rl.tracing(False)
    gone = [p() is None for p in programs]
    gc.enable()
    ahead._LEAST = before
    assert all(gone)


def main() -> None:
    if "emulated_gpu" in sys.modules:
        import fuzz

        fuzz.emulate()
    warnings.simplefilter("ignore")
    meeting.barred, meeting.timed = None, False  # replayed, whether that pays or not
    memory_goes()
    compare(kept_views(False), kept_views(True))
    assert strided_arguments(lambda fn: fn) == strided_arguments(rl.compile)
    assert strided_arguments(lambda fn: fn) == strided_arguments(traced)
    assert draws_behind_joined(False) == draws_behind_joined(True)
    plain = layouts_of_joined(None, False)
    assert plain == layouts_of_joined(None, True)
    assert plain == layouts_of_joined(traced, False)
    assert plain == layouts_of_joined(rl.compile, False)
    compare(views_by_compiled(lambda fn: fn), views_by_compiled(traced))
    for optimizer in ("SGD", "Adam", "Adafactor"):  # the last has no kernel of its own
        plain = other_layouts(optimizer, lambda fn: fn)
        compare(plain, other_layouts(optimizer, lambda fn: fn, "cpu"), 1e-5)
        compare(plain, other_layouts(optimizer, traced))
        compare(plain, other_layouts(optimizer, rl.compile))
    assert classes_are_asked("cuda") == classes_are_asked("cpu"), classes_are_asked("cuda")
    print("equal")


if __name__ == "__main__":
    main()
