"""Every layer, compiled: outputs, gradients, buffers and random streams equal eager, call by call."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from layer_rows import LAYERS, In, Layer
from rushlight import nn

CALLS = 5


def inputs(row: Layer, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)

    def one(spec: Any) -> Any:
        if isinstance(spec, tuple) and not isinstance(spec, In):
            return tuple(one(s) for s in spec)
        t = torch.from_numpy(spec.make(rng))
        return t.requires_grad_() if spec.grad and t.is_floating_point() else t

    return [one(spec) for spec in row.inputs]


def flat(value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in flat(v)]
    return [value]


def run(module: Any, given: list[Any]) -> list[Any]:
    """The outputs; the gradients of the inputs and of the parameters."""
    outs = flat(module(*given))
    live = [t for t in outs if t.is_floating_point() and t.requires_grad]
    module.zero_grad()
    if live:
        (sum((t * t).sum() for t in live) + sum(t.sum() for t in live)).backward()
    leaves = [t for t in flat(given) if t.requires_grad] + list(module.parameters())
    return [*outs, *[None if t.grad is None else t.grad for t in leaves]]


@pytest.mark.parametrize("row", LAYERS, ids=[f"{i}-{r.text}" for i, r in enumerate(LAYERS)])
def test_compiled_layer_equals_eager(row: Layer) -> None:
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = eval(f"nn.{row.text}", {"nn": nn, "OrderedDict": OrderedDict}).train(row.train)
        other = copy.deepcopy(plain)
        compiled = torch.compile(other)
        for seed in range(CALLS):
            found = []
            for module in (plain, compiled):
                torch.manual_seed(seed)
                found.append([*run(module, inputs(row, seed)), torch.get_rng_state()])
            for a, b in zip(*found):
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
            for a, b in zip(plain.buffers(), other.buffers()):
                np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5, atol=1e-6)
    told = compiled._compiled.why()
    assert told is None or "on the host" in told or "values" in told, told
    assert told is not None or compiled._compiled.replays
