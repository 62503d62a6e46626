"""Counted operations are as many as PyTorch counts."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")


def test_flops_are_counted():
    totals = []
    for lib in (rushlight, torch):
        net = lib.nn.Sequential(
            lib.nn.Conv2d(3, 4, 3, groups=1), lib.nn.ReLU(), lib.nn.Flatten(), lib.nn.Linear(144, 5)
        )
        mode = __import__(f"{lib.__name__}.utils.flop_counter", fromlist=["x"]).FlopCounterMode
        with mode(display=False) as counted, lib.no_grad():
            net(lib.zeros(2, 3, 8, 8)) @ lib.ones(5, 7)
        totals.append(counted.get_total_flops())
    assert totals[0] == totals[1]
