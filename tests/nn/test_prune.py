"""Pruning against PyTorch's: masks, names of the state, what follows what, and permanent removal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
SAME = {"rushlight": rl, "torch": torch}


def pruned(m: Any, *steps: tuple) -> Any:
    import importlib

    prune = importlib.import_module(f"{m.__name__}.nn.utils.prune")
    m.manual_seed(0)
    net = m.nn.Conv2d(2, 6, 3)
    for name, args in steps:
        getattr(prune, name)(net, "weight", **args)
    return prune, net


STEPS = {
    "l1": [("l1_unstructured", {"amount": 0.3})],
    "count": [("l1_unstructured", {"amount": 7})],
    "none": [("identity", {}), ("l1_unstructured", {"amount": 0})],
    "random": [("random_unstructured", {"amount": 0.5})],
    "slices": [("ln_structured", {"amount": 2, "n": 2, "dim": 0})],
    "random slices": [("random_structured", {"amount": 0.5, "dim": 0})],
    "twice": [("l1_unstructured", {"amount": 0.3}), ("l1_unstructured", {"amount": 0.5})],
    "mixed": [("ln_structured", {"amount": 2, "n": 1, "dim": 0}), ("random_unstructured", {"amount": 0.2}), ("ln_structured", {"amount": 1, "n": 2, "dim": 0})],
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_same_masks_outputs_and_gradients(case: str) -> None:
    found = []
    for m in (rl, torch):
        prune, net = pruned(m, *STEPS[case])
        y = net(m.ones(1, 2, 4, 4))
        y.pow(2).sum().backward()
        assert prune.is_pruned(net) and list(net.state_dict()) == ["bias", "weight_orig", "weight_mask"]
        state = [net.weight_mask, net.weight, y, net.weight_orig.grad]
        prune.remove(net, "weight")
        assert not prune.is_pruned(net) and sorted(net.state_dict()) == ["bias", "weight"]
        found.append([t.detach().numpy() for t in (*state, net.weight)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_several_parameters_as_one() -> None:
    found = []
    for m in (rl, torch):
        prune, one = pruned(m)
        two = m.nn.Linear(5, 4)
        which = [(one, "weight"), (two, "weight")]
        for _ in range(2):
            prune.global_unstructured(which, pruning_method=prune.L1Unstructured, amount=0.25)
        found.append([t.numpy() for t in (one.weight_mask, two.weight_mask)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("m", SAME.values(), ids=SAME)
def test_misuse_is_refused_before_anything_changes(m: Any) -> None:
    prune, net = pruned(m)
    for kind, amount in ((ValueError, -1), (ValueError, 1.5), (TypeError, "a"), (ValueError, 10**6)):
        with pytest.raises(kind):
            prune.l1_unstructured(net, "weight", amount)
    with pytest.raises(ValueError):
        prune.ln_structured(net, "bias", 1, 2, 0)
    with pytest.raises(ValueError):
        prune.remove(net, "weight")
    assert not prune.is_pruned(net) and sorted(net.state_dict()) == ["bias", "weight"]
