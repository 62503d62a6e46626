"""Calls of ops in C do what those in Python do: values, tape, errors, and no reference left behind."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.core import op as op_module
from rushlight.core import views
from rushlight.nn import functional as F
from rushlight.operators.shape.reshape import can_view
from twins import in_python

pytest.importorskip("rushlight.core._call", reason="the C extension is not built here")


def _t(*shape: int, grad: bool = True) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rl.tensor(rng.standard_normal(shape), requires_grad=grad)


CASES: dict[str, Callable[[], Any]] = {
    "pair": lambda: _t(3, 4) + _t(3, 4),
    "pair that broadcasts": lambda: _t(3, 4) * _t(4),
    "pair of two dtypes": lambda: _t(3).float() + _t(3),
    "a number": lambda: _t(3) * 2.5,
    "a bool": lambda: _t(3) > 0,
    "several results": lambda: _t(3, 4).max(1),
    "a view": lambda: _t(3, 4).view(2, 6),
    "a view of a view": lambda: (_t(3, 4)[1:].t() * 2).reshape(-1),
    "any number of inputs": lambda: rl.cat([_t(2, 3), _t(1, 3), _t(4, 3)]),
    "attributes": lambda: F.conv2d(_t(1, 2, 5, 5), _t(3, 2, 3, 3), _t(3), padding=1),
    "an input left out": lambda: F.linear(_t(2, 3), _t(4, 3)),
    "a scalar": lambda: (_t(5) ** 2).sum(),
    "outputs kept": lambda: rl.softmax(_t(2, 5).exp(), 1),
    "in place": lambda: (_t(4) * 2).add_(_t(4)).mul_(3),
    "nothing to record": lambda: _t(3, grad=False) + _t(3, grad=False),
}


def _seen(make: Callable[[], Any]) -> list:
    """Values, history and gradients of what `make` makes."""
    out = make()
    outs = out if isinstance(out, tuple) else (out,)
    found: list[Any] = []
    for o in outs:
        found += [o.detach().numpy().copy(), o.requires_grad, o.dtype, o._version]
        found += [None if o.grad_fn is None else o.grad_fn.name(), o._is_view()]
        node = o.grad_fn
        if node is not None and hasattr(node, "saved"):
            # Not its shapes: C does not keep those of two tensors that are alike.
            found += [sorted(node.saved or {}), len(node.outputs or ()), node.n_outputs]
    first = outs[0]
    if first.requires_grad:
        leaves: list[Any] = []
        stack = [first.grad_fn]
        while stack:
            for node, _ in stack.pop().next_functions:
                if node is not None:
                    leaf = getattr(node, "variable", None)
                    (leaves if leaf is not None else stack).append(leaf if leaf is not None else node)
        first.sum().backward()
        found += [leaf.grad.numpy() for leaf in leaves]
    return found


@pytest.mark.parametrize("name", CASES)
def test_both_calls_do_the_same(name: str) -> None:
    CASES[name]()  # kernels are bound on their first call
    in_c = _seen(CASES[name])
    with in_python():
        also = _seen(CASES[name])
    assert len(in_c) == len(also)
    for a, b in zip(in_c, also):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_left_behind(name: str) -> None:
    make = CASES[name]
    make()
    calls, counts = 20, []
    for _ in range(6):
        for _ in range(calls):
            make()
        gc.collect()
        counts.append(len(gc.get_objects()))
    # What a call leaves behind is there after every round; other threads make objects now and then.
    assert min(after - before for before, after in pairwise(counts)) < calls, counts


def test_modes_are_obeyed() -> None:
    x = _t(3)
    with rl.no_grad():
        assert not (x + x).requires_grad and not rl.relu(x).requires_grad
    with rl.inference_mode():
        assert (x + x).is_inference() and rl.relu(x).is_inference()
        frozen = rl.relu(x)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        _ = frozen * x
    with rl.autograd.set_detect_anomaly(True):
        for made in (rl.relu(x), x + x, op_module.OPS["relu"](x)):
            lines = [frame.filename for frame in made.grad_fn.where]
            assert __file__ in lines and "core" not in lines[-1]


def test_inference_mode_is_pytorchs() -> None:
    """Not even enable_grad records inside it, and inference_mode(False) records again."""
    x = _t(3)
    with rl.inference_mode():
        with rl.enable_grad():
            y = x * 2
            assert rl.is_grad_enabled() and y.is_inference() and not y.requires_grad
        with rl.inference_mode(False):
            assert rl.is_grad_enabled() and (x * 2).requires_grad
    with rl.no_grad():
        with rl.inference_mode(False):
            assert (x * 2).requires_grad
        assert not rl.is_grad_enabled()


def test_derivatives_look_at_what_was_kept() -> None:
    x = _t(3)
    y = x.exp()
    y.backward(rl.ones(3, dtype=rl.float64))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward(rl.ones(3, dtype=rl.float64))
    z = x.exp()
    with rl.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    w = (x * 2) * x  # keeps x; the second factor changes afterwards
    with rl.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        w.sum().backward()


@pytest.mark.parametrize("python", [False, True], ids=["in C", "in Python"])
def test_rules_refuse_also_on_the_short_way(python: bool) -> None:
    """Two float tensors that are alike, after the kernel was bound for integers."""
    whole, x = rl.tensor([1, 2]), _t(2)
    operators: list[Callable[[Any], Any]] = [
        lambda v: v & v, lambda v: v | v, lambda v: v ^ v, lambda v: v << v, lambda v: v >> v,
    ]  # fmt: skip
    with in_python() if python else nullcontext():
        for operator in operators:
            operator(whole)
            with pytest.raises(NotImplementedError, match="not implemented for 'Double'"):
                operator(x)


def test_errors_are_the_same() -> None:
    with pytest.raises(TypeError, match="must be Tensor"):
        op_module.OPS["relu"](3)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        _ = _t(3) + _t(4)
    with pytest.raises(TypeError):
        op_module.OPS["relu"](_t(3), nonsense=1)


def _place(t: Any) -> tuple:
    """What a view knows of its base."""
    own = t._ext
    steps = [(step.name, attrs) for step, attrs in views.steps_of(own.spec)]
    return steps, own.edge_version, own.made, own.inference, own.retains, t._ver[0]


def _made_by(t: Any) -> Any:
    try:
        return t.requires_grad and t.grad_fn.name()
    except RuntimeError as refused:
        return str(refused)


@pytest.mark.parametrize("grad", [True, False])
def test_views_know_their_base(grad: bool) -> None:
    def make() -> list:
        base = _t(4, 6, grad=False).requires_grad_(grad)
        changed = base * 2
        first = changed.view(2, 12)
        with rl.no_grad():
            unseen = first.t()
        parts = [first, first.t()[1:], unseen, *changed.unbind(0), *changed.split(4, 1)]
        changed.mul_(3)
        later = changed.view(-1)
        found = [_place(p) for p in [*parts, later]]
        assert all(p._ext.base is changed for p in parts) and later._ext.base is changed
        return [found, [_made_by(p) for p in [*parts, later]]]

    in_c = make()
    with in_python():
        assert make() == in_c


@pytest.mark.parametrize("seed", range(40))
def test_memory_is_shown_in_another_shape_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        a = np.zeros(rng.integers(0 if rng.random() < 0.1 else 1, 5, rng.integers(0, 5)))
        a = a.transpose(rng.permutation(a.ndim))
        if a.ndim and rng.random() < 0.5:
            a = a[tuple(slice(0, n, int(rng.integers(1, 3))) for n in a.shape)]
        shape, left = [], a.size
        while left > 1 and rng.random() < 0.8:
            n = int(rng.choice([d for d in range(1, left + 1) if left % d == 0]))
            shape.append(n)
            left //= n
        shape = tuple(rng.permutation([*shape, left]).tolist()) if a.size else (0, 3)
        assert op_module.native.can_view(a, shape) == can_view(a, shape), (a.shape, a.strides, shape)
        if op_module.native.can_view(a, shape) and a.size:
            assert np.shares_memory(a, a.reshape(shape))
