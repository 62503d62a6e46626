"""Random streams in traced loops: whoever looks at a stream's state finds what eager would have drawn so far."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight.core.hot import meeting
from rushlight.nn import functional as F
from rushlight.utils.checkpoint import checkpoint
from traced import both

N = 14


@pytest.fixture(autouse=True)
def without_dezero(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeZero, once imported by another test, bars loops of the whole process."""
    monkeypatch.setattr(meeting, "barred", None)


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
    "pickle of a generator": lambda t: rl.rand(
        3, generator=pickle.loads(pickle.dumps(rl.default_generator))
    ),
    "manual_seed": lambda t: str(rl.manual_seed(3)),
    "seed": lambda t: rl.initial_seed(),
}


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("name", ACTIONS)
def test_streams_are_those_of_eager(name: str, always: bool) -> None:
    """In the middle of a stretch in which dropout's numbers are still to be drawn; now and then, or each time."""

    def program() -> Any:
        told: list[Any] = []
        for i, x in enumerate([rl.randn(4, 6) for _ in range(N)]):
            out = F.dropout((x * 2).tanh(), 0.5) + x.mean()
            if always or i in (8, 11):
                told.append(ACTIONS[name](out.detach()))
            told.append(F.dropout(out, 0.25).sum().item())
        return told

    both(program, replays=0 if always else 3)
