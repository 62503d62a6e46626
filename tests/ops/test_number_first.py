"""Calls with a number before the tensors, as scripts of PyTorch's first years write them."""

from __future__ import annotations

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

CALLS = {
    "add": lambda t, m, v, b: t.add(m, 2, m),
    "add_": lambda t, m, v, b: m.clone().add_(-0.5, m),
    "sub": lambda t, m, v, b: m.sub(2, m),
    "addcmul_": lambda t, m, v, b: m.clone().addcmul_(0.1, m, m),
    "addcdiv": lambda t, m, v, b: t.addcdiv(m, 2, m, m + 1),
    "addmm": lambda t, m, v, b: t.addmm(2, m, 3, m, m),
    "addmm of one number": lambda t, m, v, b: m.addmm(2, m, m),
    "addmm of two": lambda t, m, v, b: m.clone().addmm_(2, 3, m, m),
    "addmv": lambda t, m, v, b: v.addmv(2, 3, m, v),
    "addr": lambda t, m, v, b: t.addr(2, m, v, v),
    "addbmm": lambda t, m, v, b: t.addbmm(2, m, 3, b, b),
    "baddbmm": lambda t, m, v, b: b.baddbmm(2, 3, b, b),
}


def run(lib, name):
    m = lib.arange(4.0).reshape(2, 2).requires_grad_()
    v, b = lib.tensor([1.0, 2.0]), lib.ones(2, 2, 2) * m
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once in a process, so by chance in this test
        y = CALLS[name](lib, m, v, b)
    if y.requires_grad:
        y.sum().backward()
    return y.tolist(), m.grad is not None and m.grad.tolist()


@pytest.mark.parametrize("name", CALLS)
def test_numbers_and_gradients(name):
    ours, theirs = run(rushlight, name), run(torch, name)
    assert rushlight.tensor(ours[0]).sub(rushlight.tensor(theirs[0])).abs().max() < 1e-5
    assert (ours[1] is False) == (theirs[1] is False)
    if ours[1] is not False:
        assert rushlight.tensor(ours[1]).sub(rushlight.tensor(theirs[1])).abs().max() < 1e-4


@pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])
@pytest.mark.parametrize(
    "call",
    [
        lambda t, x: t.add(x, x, x),
        lambda t, x: x.addcmul(1, 2, x),
        lambda t, x: t.add(x, 2, 3, x),
        lambda t, x: x.addmm_(1, 2, 3, x, x),
        lambda t, x: t.addcdiv(1, 2, x, x),
    ],
)
def test_what_is_no_such_call_is_a_wrong_one(lib, call):
    with pytest.raises(TypeError):
        call(lib, lib.ones(2, 2))


def test_the_warning_says_the_new_form():
    from rushlight.operators.pointwise import number_first

    number_first._once.cache_clear()
    x = rushlight.ones(2)
    with pytest.warns(UserWarning, match="This overload of add is deprecated.*alpha="):
        x.add_(2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.add_(2, x)  # it is said once
