"""Norms and refusals of `torch._foreach_*` and the clipping of gradients, beside PyTorch (tools/parity.py walks over the functions)."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl

SHAPES = [(3, 4), (1,), (5,), (2, 3, 2), ()]


def lists(lib, seed=0, positive=False, dtype="float64", device=None):
    rng = np.random.RandomState(seed)
    values = [np.asarray(rng.rand(*s) * 0.8 + 0.1 if positive else rng.randn(*s)) for s in SHAPES]
    kw = {} if device is None else {"device": device}
    return [lib.tensor(v, dtype=getattr(lib, dtype), **kw) for v in values]


def check(found, wanted, rtol=1e-6):
    assert type(found) is type(wanted) and len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert str(a.dtype).split(".")[-1] == str(b.dtype).split(".")[-1]
        a, b = (t.detach().cpu().double().numpy() for t in (a, b))
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12)


def test_every_foreach_function_of_torch_is_here():
    torch = pytest.importorskip("torch")
    missing = [n for n in dir(torch) if n.startswith("_foreach_") and not hasattr(rl, n)]
    assert not missing


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("order", [2, 1, float("inf"), 3, 0])
def test_norms_agree_with_torch(order, dtype, device):
    torch = pytest.importorskip("torch")
    mine, theirs = lists(rl, dtype=dtype, device=device), lists(torch, dtype=dtype)
    rtol = 1e-2 if dtype == "bfloat16" else 1e-5
    check(rl._foreach_norm(mine, order), torch._foreach_norm(theirs, order), rtol)
    total, wanted = (lib.nn.utils.get_total_norm(t, order) for lib, t in ((rl, mine), (torch, theirs)))
    check([total], [wanted], rtol)
    wide = [lib._foreach_norm(t, order, lib.float64) for lib, t in ((rl, mine), (torch, theirs))]
    check(*wide, 1e-6 if dtype != "bfloat16" else 1e-2)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("limit", [0.5, 100.0, 0.0])
def test_clipping_agrees_with_torch(limit, dtype, device):
    torch = pytest.importorskip("torch")
    sides = []
    for lib, d in ((rl, device), (torch, None)):
        grads = lists(lib, dtype=dtype, device=d)
        params = [lib.nn.Parameter(lib.zeros_like(g)) for g in grads]
        for p, g in zip(params, grads):
            p.grad = g
        params.append(lib.nn.Parameter(lib.zeros_like(grads[0])))  # without a gradient
        total = lib.nn.utils.clip_grad_norm_(params, limit)
        found = [p.grad.clone() for p in params[:-1]]
        lib.nn.utils.clip_grad_value_(params, 0.1)
        sides.append([total, *found, *[p.grad for p in params[:-1]]])
    check(*sides, 2e-2 if dtype == "bfloat16" else 1e-5)


def test_clipping_of_several_dtypes_and_of_nothing():
    torch = pytest.importorskip("torch")
    sides = []
    for lib in (rl, torch):
        params = [lib.nn.Parameter(lib.zeros(3, dtype=t)) for t in (lib.float32, lib.float64)]
        for p in params:
            p.grad = lib.ones_like(p) * 2
        total = lib.nn.utils.clip_grad_norm_(params, 1.0)
        assert float(lib.nn.utils.clip_grad_norm_([lib.nn.Parameter(lib.ones(2))], 1.0)) == 0.0
        sides.append([total.double(), *[p.grad for p in params]])
    check(*sides)
    p = rl.nn.Parameter(rl.ones(2))
    p.grad = rl.tensor([float("inf"), 1.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        rl.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)


def test_lists_that_torch_refuses():
    torch = pytest.importorskip("torch")
    for lib in (rl, torch):
        a = [lib.ones(2), lib.ones(3)]
        for bad, words in (
            (lambda lib=lib: lib._foreach_add([], 1), "at least one tensor"),
            (lambda lib=lib, a=a: lib._foreach_add(a, [1, 2, 3]), "same number of elements"),
            (lambda lib=lib, a=a: lib._foreach_add(a, a[:1]), "same number of tensors, got 2 and 1"),
        ):
            with pytest.raises(RuntimeError, match=words):
                bad()
        with pytest.raises(TypeError):
            lib._foreach_add(3, 1)


def test_lists_have_derivatives():
    x = rl.ones(2, requires_grad=True)
    (y,) = rl._foreach_mul([x], 3.0)
    (n,) = rl._foreach_norm([y])
    n.backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match="leaf Variable"):
        rl._foreach_zero_([x])
