"""Values that are read past the door while they wait: whoever reads them there computes them first."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import rushlight as rl
from rushlight.core.hot import meeting
from traced import both

N = 12


@pytest.fixture(autouse=True)
def without_dezero(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeZero, once imported by another test, bars loops of the whole process."""
    monkeypatch.setattr(meeting, "barred", None)


def _shape_of_a_wrong_index(t: Any) -> str:
    with pytest.raises(IndexError) as error:
        rl.zeros(6, 6)[(t[0] > 0), rl.tensor([0, 1, 2, 3, 4, 5, 0])]
    return str(error.value)


def _shape_of_a_wrong_value(t: Any) -> str:
    with pytest.raises(RuntimeError) as error:
        rl.zeros(4, 6)[t > 0] = rl.zeros(99)
    return str(error.value)


READS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "deepcopy of a list": lambda t: copy.deepcopy([t, {"a": t}]),
    "an index that does not fit": _shape_of_a_wrong_index,
    "a value that does not fit": _shape_of_a_wrong_value,
}


@pytest.mark.parametrize("name", READS)
def test_what_waits_is_read(name: str) -> None:
    """Once in the middle of a stretch that is replayed: before and after it the loop runs as a program."""

    def program() -> Any:
        told: list[Any] = []
        for i, x in enumerate([rl.randn(4, 6) for _ in range(N)]):
            out = (x * 2).tanh() + x.mean()
            if i in (8, 10):
                told.append(READS[name](out.detach()))
            told.append(out.pow(2).sum().item())
        return told

    both(program, replays=3)
