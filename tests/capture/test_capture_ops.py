"""Every row of the op table, compiled: forward and backward equal eager, call by call, for new values."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as torch
from optable import Row, all_rows, call, flat, seeded
from rushlight.core.tensor import Tensor, wrap
from rushlight.operators import load_all

load_all()
ROWS = all_rows()
CALLS = 4


def inputs(row: Row, seed: int, grad: bool) -> list[Tensor]:
    rng = seeded(seed)
    made = []
    for spec in row.specs():
        t = wrap(np.array(spec.make(rng, "float32")))
        made.append(t.requires_grad_() if grad and spec.grad else t)
    return made


def with_gradients(row: Row, tensors: list[Tensor], grad: bool) -> list[Any]:
    """The outputs and, where there are any, the gradients of all inputs."""
    out = flat(call(torch, row, list(tensors)))
    if not grad:
        return out
    wanted = [t for t in tensors if t.requires_grad]
    live = [o for o in out if isinstance(o, Tensor) and o.requires_grad]
    if not wanted or not live:
        return out
    seeds = [torch.ones_like(o) for o in live]
    found = torch.autograd.grad(live, wanted, seeds, allow_unused=True)
    return [*[o.detach() if isinstance(o, Tensor) else o for o in out], *found]


def same(a: Any, b: Any) -> None:
    if isinstance(a, Tensor):
        assert a.shape == b.shape and a.dtype == b.dtype
        x, y = a.detach(), b.detach()
        if x.dtype == torch.bfloat16:
            x, y = x.float(), y.float()
        np.testing.assert_allclose(y.numpy(), x.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True)
    elif isinstance(a, float):
        assert a == b or np.isnan(a) == np.isnan(b)
    else:
        assert str(a) == str(b)


@pytest.mark.parametrize("row", ROWS, ids=[repr(r) for r in ROWS])
def test_compiled_row_equals_eager(row: Row) -> None:
    grad = row.grad and any(s.grad for s in row.specs())

    def fn(*tensors: Tensor) -> list[Any]:
        return with_gradients(row, list(tensors), grad)

    compiled = torch.compile(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(CALLS):
            state = torch.get_rng_state()
            try:
                expected = fn(*inputs(row, seed, grad))
            except Exception as error:  # noqa: BLE001 - these values do not suit the op
                with pytest.raises(type(error)):
                    compiled(*inputs(row, seed, grad))
                continue
            after = torch.get_rng_state()
            torch.set_rng_state(state)
            got = compiled(*inputs(row, seed, grad))
            assert len(got) == len(expected)
            for a, b in zip(expected, got):
                if not row.nondet or "rand" in row.name:  # empty() holds what it holds
                    same(a, b)
            same(after, torch.get_rng_state())
    told = compiled.why()
    if told is None:
        assert compiled.replays
    else:  # it said why it stays eager: values decide what is computed, or memory that no argument shows
        known = ("on the host", "depends on values", "the memory around an argument")
        assert any(words in told for words in known)
