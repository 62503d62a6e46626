"""Steps that fail at the k-th allocation or kernel: what must still hold afterwards, on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.runtime import door

OPTIMISERS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9, "dampening": 0.5}, "Adam": {"amsgrad": True}, "NAdam": {}, "ASGD": {},
    "RMSprop": {"momentum": 0.5, "centered": True}, "Rprop": {}, "Adagrad": {}, "Adadelta": {},
}  # fmt: skip


class Injected(RuntimeError):
    """A kernel that fails."""


@contextmanager
def kernel_fails(k: int) -> Iterator[list[int]]:
    """Let the k-th kernel of this thread raise before it begins; the list holds how many were asked for.

    Of an optimiser's kernels only the first fails: the others are launches that need nothing any more.
    """
    count, begun = [0], False

    def listener(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        nonlocal begun
        count[0] += not begun
        if count[0] == k and not begun:
            raise Injected(f"kernel {k}, {kernel.name}")
        begun = begun or kernel.name.endswith("_update")
        return call()

    with door.listening(listener):
        yield count


@contextmanager
def allocation_fails(k: int) -> Iterator[list[int]]:
    """Let the k-th allocation on the GPU find no memory, also after everything unused was given back."""
    from cupy.cuda import memory

    from rushlight.runtime.cuda.memory import pool

    count, real = [0], pool._pool
    gauge = pool._gauges[0]
    in_c = hasattr(gauge, "malloc")

    class Full:
        refusals = 3 if in_c else 2  # the first in C, then in Python, and after everything was given back

        def malloc(self, size: int) -> Any:
            again = count[0] == k and 0 < self.refusals < Full.refusals
            count[0] += not again
            if count[0] == k and self.refusals:
                self.refusals -= 1
                raise memory.OutOfMemoryError(size, real.total_bytes(), 0)
            return real.malloc(size)

        def __getattr__(self, name: str) -> Any:
            return getattr(real, name)

    pool._pool = full = Full()
    if in_c:
        before, gauge.malloc = gauge.malloc, full.malloc
    try:
        yield count
    finally:
        pool._pool = real
        if in_c:
            gauge.malloc = before


class Case:
    """A small network in two groups of parameters with an optimiser, and its batches."""

    def __init__(self, device: str, name: str = "Adam") -> None:
        rng = np.random.RandomState(0)
        self.device = device
        self.net = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)).to(device)
        with rl.no_grad():
            for p in self.net.parameters():
                p.copy_(rl.tensor(rng.randn(*p.shape), dtype=rl.float32))
        first, second = self.net[0].parameters(), self.net[2].parameters()
        self.opt = getattr(rl.optim, name)(
            [{"params": list(first)}, {"params": list(second), "lr": 0.05}], lr=0.1, **OPTIMISERS.get(name, {})
        )
        self.batches = [
            (rl.tensor(rng.randn(6, 4), dtype=rl.float32), rl.tensor(rng.randint(0, 3, 6))) for _ in range(4)
        ]

    def loss(self, i: int) -> Any:
        x, t = self.batches[i]
        return nn.functional.cross_entropy(self.net(x.to(self.device)), t.to(self.device))

    def backward(self, i: int) -> float:
        self.opt.zero_grad()
        loss = self.loss(i)
        loss.backward()
        return loss.item()

    def step(self, i: int) -> float:
        found = self.backward(i)
        self.opt.step()
        return found

    def tensors_step(self, x: Any, t: Any) -> Any:
        self.opt.zero_grad()
        loss = nn.functional.cross_entropy(self.net(x), t)
        loss.backward()
        self.opt.step()
        return loss

    def everything(self) -> list[Any]:
        """Parameters, states of the optimiser and its counts, as bytes of the host."""
        found: list[Any] = [p.detach().cpu().numpy().tobytes() for p in self.net.parameters()]
        for i, p in enumerate(self.net.parameters()):
            held = self.opt.state.get(p) or {}
            for name in sorted(held):
                found.append((i, name, held[name].detach().cpu().numpy().tobytes()))
        return found

    def versions(self) -> list[int]:
        return [p._version for p in self.net.parameters()]


def check_optimiser(device: str, name: str, fails: Any, kind: type) -> int:
    """Every failure inside `step()`: all as before, and the next step as if nothing had been. How many."""
    wanted = Case(device, name)
    wanted.step(0)
    after_one = wanted.everything()
    wanted.step(1)
    after_two = wanted.everything()
    failures = 0
    for done, after in ((0, after_one), (1, after_two)):  # states that are made, states that are there
        k = 0
        while True:
            k += 1
            case = Case(device, name)
            for i in range(done):
                case.step(i)
            case.backward(done)
            before, versions, count = case.everything(), case.versions(), case.opt._step_count
            try:
                with fails(k):
                    case.opt.step()
            except kind as error:
                assert case.everything() == before, (name, done, k, error)
                assert case.versions() == versions and case.opt._step_count == count
                failures += 1
                case.opt.step()
                assert case.everything() == after, (name, done, k)
                continue
            break
    return failures


def check_training(device: str, fails: Any, kind: type, most: int = 60) -> int:
    """Every failure in forward and backward: parameters stay, and the step can be done again."""
    wanted = Case(device)
    losses = [wanted.step(0), wanted.step(1)]
    for k in range(1, most):
        case = Case(device)
        first = case.step(0)
        before = case.everything()
        try:
            with fails(k):
                case.backward(1)
        except kind as error:
            if kind is rl.OutOfMemoryError:
                explains(error)
            assert case.everything() == before, k
            assert [first, case.step(1)] == losses, k
            assert case.everything() == wanted.everything(), k
            continue
        return k - 1
    return most


def check_compiled(device: str, fails: Any, kind: type, most: int = 40) -> int:
    """Failures while a step is recorded, made into a program, and replayed; a call that failed is made again.

    Where the step was done and only its result found no room, all of it is done: parameters, states and counts.
    """
    wanted = Case(device)
    losses, states = [], []
    for i in (0, 1, 2, 3, 0, 1):
        states.append(wanted.everything())
        losses.append(wanted.step(i))
    states.append(wanted.everything())
    failures = 0
    for call in (0, 1, 2, 4):
        for k in range(1, most, 1 if call == 4 else 4):
            case = Case(device)
            step = rl.compile(case.tensors_step)
            met = False
            for n, i in enumerate((0, 1, 2, 3, 0, 1)):
                batch = [t.to(device) for t in case.batches[i]]
                before = case.everything()
                try:
                    with fails(k if n == call else 0):
                        found = step(*batch).item()
                except kind:
                    met = True
                    now = case.everything()
                    if now != before:
                        assert near(now, states[n + 1]), (call, k, n)
                        continue
                    found = step(*batch).item()
                assert abs(found - losses[n]) < 1e-6, (call, k, n)
            assert near(case.everything(), states[-1]), (call, k)
            failures += met
            if call == 4 and not met:
                break
    return failures


def near(a: list[Any], b: list[Any]) -> bool:
    """Whether two lists of `everything` hold almost the same numbers: programs may add in another order."""

    def numbers(one: Any) -> Any:
        raw = one if isinstance(one, bytes) else one[-1]
        return np.frombuffer(raw, np.float32)

    return len(a) == len(b) and all(np.allclose(numbers(x), numbers(y), rtol=1e-4, atol=1e-6) for x, y in zip(a, b))


def check_device_lost() -> None:
    """Errors of CUDA are of one type, and say whether the GPU answers this process again."""
    from cupy.cuda import runtime

    from rushlight.runtime.cuda.memory import lost

    for status in (700, 719):
        error = runtime.CUDARuntimeError(status)
        said = lost.explained(error)
        assert isinstance(said, rl.AcceleratorError) and said.error_code == status
        assert "restart the process" in str(said)
    passing = lost.explained(runtime.CUDARuntimeError(1))
    assert isinstance(passing, rl.AcceleratorError) and passing.error_code == 1
    assert "was not begun" in str(passing) and "restart" not in str(passing)
    memory = runtime.CUDARuntimeError(2)
    assert lost.explained(memory) is memory  # told with sizes, by whoever asked for the memory


def explains(error: BaseException) -> None:
    """Whether an error of memory says what was asked, what is there and who holds it."""
    said = str(error)
    for part in ("Tried to allocate", "is free", "This process holds", "tensors use", "The largest live tensors"):
        assert part in said, said
