"""Loops that a debugger looks at: a frame that was looked at keeps references, by which nobody may be misled."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.core.hot import meeting
from rushlight.nn import functional as F
from traced import both

N = 20


@pytest.fixture(autouse=True)
def without_dezero(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeZero, once imported by another test, bars loops of the whole process."""
    monkeypatch.setattr(meeting, "barred", None)


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
            for i, x in enumerate(rl.randn(N, 4, 6)):
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
