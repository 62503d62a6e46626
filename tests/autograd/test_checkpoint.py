"""Checkpointing: the same gradients, less kept, the inside computed twice."""

from __future__ import annotations

import gc
import warnings
import weakref

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    get_device_states,
    set_device_states,
)


def block(seed: int = 0) -> nn.Module:
    rl.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4), nn.Sigmoid())


def gradients(net: nn.Module, x: rl.Tensor, run) -> list:
    net.zero_grad()
    x = x.detach().clone().requires_grad_()
    out = run(net, x)
    (out * out).sum().backward()
    return [x.grad.numpy(), *[p.grad.numpy().copy() for p in net.parameters()]]


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_are_those_without(reentrant) -> None:
    net, x = block(), rl.randn(3, 4)
    plain = gradients(net, x, lambda n, a: n(a))
    saved = gradients(net, x, lambda n, a: checkpoint(n, a, use_reentrant=reentrant))
    for a, b in zip(plain, saved):
        np.testing.assert_array_equal(a, b)


def test_sequential() -> None:
    net, x = block(), rl.randn(3, 4)
    plain = gradients(net, x, lambda n, a: n(a))
    for segments in (1, 2, 3, 4):
        saved = gradients(net, x, lambda n, a: checkpoint_sequential(n, segments, a, use_reentrant=False))
        for a, b in zip(plain, saved):
            np.testing.assert_array_equal(a, b)
    listed = gradients(net, x, lambda n, a: checkpoint_sequential(list(n), 2, a, use_reentrant=True))
    np.testing.assert_array_equal(plain[1], listed[1])
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint_sequential(net, 2, x, foo=1)


def test_the_inside_runs_once_more_in_backward() -> None:
    calls = []

    def f(x):
        calls.append(rl.is_grad_enabled())
        return x.exp().sin()

    x = rl.ones(2, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False)
    assert calls == [True]
    y.sum().backward()
    assert calls == [True, True]


def test_what_is_inside_is_not_kept() -> None:
    """The arrays saved between forward and backward are gone until backward needs them."""
    seen = []

    def f(x):
        inner = x.exp()  # exp keeps its result, mul its inputs
        seen.append(weakref.ref(inner._a))
        return (inner * inner).sum()

    x = rl.ones(1000, requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False)
    gc.collect()
    assert seen[0]() is None
    z = f(x)
    gc.collect()
    assert seen[1]() is not None  # without a checkpoint it is kept
    y.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2.0) * np.ones(1000), rtol=1e-6)
    del z


def test_random_numbers_inside_are_drawn_again() -> None:
    rl.manual_seed(1)
    drop = nn.Dropout(0.5)
    x = rl.ones(100, requires_grad=True)
    y = checkpoint(lambda a: drop(a) * 3, x, use_reentrant=False)
    after = rl.rand(1)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
    rl.manual_seed(1)
    drop(rl.ones(100))
    assert rl.rand(1).item() == after.item()  # and the stream outside goes on as if nothing was


def test_arguments_by_name_several_results_and_captured_parameters() -> None:
    w = rl.tensor([2.0], requires_grad=True)

    def f(x, *, scale, more):
        return {"a": x * w * scale, "b": [(x * more["k"]).exp()]}

    x, k = rl.ones(1, requires_grad=True), rl.tensor([0.5], requires_grad=True)
    out = checkpoint(f, x, scale=3.0, more={"k": k}, use_reentrant=False)
    (out["a"] + out["b"][0]).sum().backward()
    np.testing.assert_allclose(
        [x.grad.item(), w.grad.item(), k.grad.item()], [6.0 + 0.5 * np.exp(0.5), 3.0, np.exp(0.5)], rtol=1e-6
    )


def test_no_input_needs_a_gradient() -> None:
    lin = nn.Linear(2, 2)
    checkpoint(lin, rl.ones(2), use_reentrant=False).sum().backward()
    assert lin.weight.grad is not None
    y = checkpoint(lambda a: a * 2, rl.ones(2), use_reentrant=False)
    assert not y.requires_grad


def test_grad_and_second_derivatives() -> None:
    x = rl.tensor([0.5, 1.5], requires_grad=True)
    y = checkpoint(lambda a: (a.exp() * a).sum(), x, use_reentrant=False)
    (g,) = rl.autograd.grad(y, x, create_graph=True)
    (h,) = rl.autograd.grad(g.sum(), x)
    a = x.detach().numpy()
    np.testing.assert_allclose(g.detach().numpy(), np.exp(a) * (a + 1), rtol=1e-6)
    np.testing.assert_allclose(h.numpy(), np.exp(a) * (a + 2), rtol=1e-6)


def test_nested() -> None:
    def inner(a):
        return a.sin().exp()

    def outer(a):
        return checkpoint(inner, a, use_reentrant=False).cos() * a

    x = rl.tensor([0.5, 1.5], requires_grad=True)
    want = rl.autograd.grad(inner(x).cos().mul(x).sum(), x)[0].numpy()
    got = rl.autograd.grad(checkpoint(outer, x, use_reentrant=False).sum(), x)[0].numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_custom_functions_inside() -> None:
    class Square(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = rl.tensor([3.0], requires_grad=True)
    checkpoint(lambda a: Square.apply(a.exp().log()), x, use_reentrant=False).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [6.0], rtol=1e-6)


def test_retained_and_freed_graphs() -> None:
    x = rl.tensor([0.5], requires_grad=True)
    y = checkpoint(lambda a: a.exp().sin(), x, use_reentrant=False)
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_a_second_run_that_differs_is_noticed() -> None:
    turns = iter([True, False])
    x = rl.ones(2, requires_grad=True)
    y = checkpoint(lambda a: a.exp().sin() if next(turns) else a.exp(), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        y.sum().backward()
    turns = iter([2, 1])
    y = checkpoint(lambda a: (a[: next(turns)] * 2).exp(), x, use_reentrant=False)
    with pytest.raises(CheckpointError, match="have different metadata than during the forward"):
        y.sum().backward()


def test_refusals() -> None:
    x = rl.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: foo"):
        checkpoint(lambda a: a, x, use_reentrant=True, foo=1)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(lambda a: a, x, determinism_check="some")


def test_no_grad_computes_only() -> None:
    with rl.no_grad():
        assert not checkpoint(lambda a: a * 2, rl.ones(2, requires_grad=True), use_reentrant=False).requires_grad


@pytest.mark.parametrize("options", [{}, {"use_reentrant": True}])
def test_without_inputs_that_want_gradients_reentrant_parts_give_none(options) -> None:
    torch = pytest.importorskip("torch")

    def story(lib):
        x, part = lib.ones(2, 3), lib.nn.Linear(3, 1)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            runs = [lib.utils.checkpoint.checkpoint(part, x, **options)]
            runs += [lib.utils.checkpoint.checkpoint_sequential([part, lib.nn.Identity()], 2, x, **options)]
        return [y.requires_grad for y in runs], [(w.category, str(w.message).partition(":")[0]) for w in told]

    assert story(rl)[0] == story(torch)[0] == [False, False]
    assert [w for w, _ in story(rl)[1]] == [w for w, _ in story(torch)[1]]


def test_compiled_steps_draw_once() -> None:
    """A recorded step keeps its masks: a replay draws new ones, forward and backward alike."""
    drop = nn.Dropout(0.5)

    def step(x: rl.Tensor) -> tuple:
        x = x.detach().requires_grad_()
        y = checkpoint(lambda a: drop(a) * 3, x, use_reentrant=False)
        return y.detach(), rl.autograd.grad(y.sum(), x)[0]

    compiled = rl.compile(step)
    seen = set()
    for _ in range(5):
        y, g = compiled(rl.ones(64))
        np.testing.assert_array_equal(y.numpy(), g.numpy())
        seen.add(tuple(y.tolist()))
    assert len(seen) == 5


def test_states_of_devices(device: str) -> None:
    """What a library saves before a part and puts back before it runs again."""
    x = rl.ones(2, device=device)
    devices, states = get_device_states({"a": [x, 3]}, "b")
    assert devices == ([] if device == "cpu" else [0])
    first = rl.rand(3, device=device)
    set_device_states(devices, states)
    assert rl.equal(first, rl.rand(3, device=device)) == (device != "cpu")
    set_device_states([0], [None], device_type="meta")
