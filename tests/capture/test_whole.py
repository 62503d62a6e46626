"""Ops that could be computed in parts: a device that has one kernel for them is asked for that one."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
import rushlight.nn.functional as F
from rushlight.core.op import OPS
from rushlight.operators import load_all
from rushlight.runtime import door, joins

load_all()


@pytest.mark.parametrize("device", ["meta", "wrapped", "sparse"])
def test_arrays_without_memory_of_their_own_are_computed_in_parts(device):
    assert not joins.whole(device, OPS["glu"].kernel).is_one


class _Recorder:
    wants_parts = True

    def __init__(self):
        self.seen = []

    def __call__(self, kernel, arrays, attrs, call):
        self.seen.append(kernel.name)
        return call()


def test_a_recorder_is_shown_the_parts_unless_the_device_wants_them_whole(monkeypatch):
    x, grid = rl.randn(1, 2, 4, 4), rl.rand(1, 3, 3, 2)
    recorder = _Recorder()
    with door.listening(recorder):
        F.glu(x, 1)
        F.group_norm(x, 2)
        F.grid_sample(x, grid, align_corners=False)
    assert recorder.seen == ["glu", "group_norm", "grid_sample"]
    monkeypatch.setitem(OPS["glu"].whole, np.ndarray, joins.Whole(True, False))
    with door.listening(recorder):
        F.glu(x, 1)
    assert recorder.seen.count("glu") == 1 and "sigmoid" in recorder.seen


def test_parts_and_whole_agree(monkeypatch):
    x, grid = np.random.default_rng(0).standard_normal((2, 2, 5, 4)), None
    grid = np.random.default_rng(1).uniform(-1.4, 1.4, (2, 3, 3, 2))
    calls = {
        "glu": lambda t, g: F.glu(t, 1),
        "group_norm": lambda t, g: F.group_norm(t, 2),
        "grid_sample": lambda t, g: F.grid_sample(t, g, padding_mode="border", align_corners=False),
    }
    for name, call in calls.items():
        made = []
        for one in (True, False):
            monkeypatch.setitem(OPS[name].whole, np.ndarray, joins.Whole(one, one))
            t, g = rl.tensor(x, requires_grad=True), rl.tensor(grid, requires_grad=True)
            out = call(t, g)
            out.square().sum().backward()
            made.append((out.detach().numpy(), t.grad.numpy()))
        for whole, parts in zip(*made):
            np.testing.assert_allclose(whole, parts, rtol=1e-9, atol=1e-11)
