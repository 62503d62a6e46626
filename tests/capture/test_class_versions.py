"""Classes that change again and again: Python stops to number their changes, and compiled functions look for themselves."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import rushlight as rl


@pytest.mark.parametrize("changes", [3, 1500])
def test_a_class_that_was_changed_many_times_is_still_looked_at(changes: int) -> None:
    """From Python 3.13 on a class has 1,000 numbers; behind them nobody who watches it is told of a change."""

    class Scaled(rl.nn.Module):
        def scaled(self, x: Any) -> Any:
            return x * 2

        def forward(self, x: Any) -> Any:
            return self.scaled(x) + 1

    net = Scaled()
    for i in range(changes):
        Scaled.other = i  # type: ignore[attr-defined]
        assert net.scaled and Scaled.scaled and hasattr(net, "other")
    compiled, x, before = rl.compile(net), rl.ones(3), Scaled.scaled
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(6):
            Scaled.scaled = (lambda self, x: x * 5) if k % 2 else before  # type: ignore[method-assign]
            for _ in range(4):
                assert compiled(x).tolist() == [6.0 if k % 2 else 3.0] * 3
