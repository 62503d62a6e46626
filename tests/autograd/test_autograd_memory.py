"""What backward leaves behind: gradients that belong to one leaf, graphs that go away."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import rushlight as rl
from test_autograd import said

# -- .grad belongs to its leaf alone ---------------------------------------------------------------

TWO_LEAVES = {
    "sum": lambda a, b: (a + b).sum(),
    "difference": lambda a, b: (a - b).sum(),
    "stacked": lambda a, b: rl.stack([a, b]).sum(),
    "joined": lambda a, b: rl.cat([a, b]).sum(),
    "reshaped": lambda a, b: (a.view(3, 1) + b.view(3, 1)).sum(),
    "added twice": lambda a, b: ((a + b) + (a + b)).sum(),
    "through the same view": lambda a, b: (a[:] + b[:]).sum(),
    "mean": lambda a, b: (a + b).mean(),
    "where": lambda a, b: rl.where(a > 0, a, b).sum() + a.sum() + b.sum(),
}


@pytest.mark.parametrize("name", TWO_LEAVES)
def test_two_leaves_never_share_a_gradient(name: str) -> None:
    a, b = rl.ones(3, requires_grad=True), rl.ones(3, requires_grad=True)
    TWO_LEAVES[name](a, b).backward()
    before = b.grad.tolist()
    a.grad.add_(100)
    assert b.grad.tolist() == before
    assert not np.shares_memory(a.grad.numpy(), b.grad.numpy())


def test_the_seed_is_not_taken() -> None:
    x, seed = rl.ones(3, requires_grad=True), rl.ones(3)
    x.backward(seed)
    seed.add_(5)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    (x * 1).backward(seed, retain_graph=False)
    (x + 0).backward(seed)
    seed.zero_()
    assert x.grad.tolist() == [13.0, 13.0, 13.0]


def test_a_gradient_a_hook_kept_is_not_taken() -> None:
    x = rl.ones(3, requires_grad=True)
    kept = []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert kept[0].tolist() == [2.0, 2.0, 2.0] and x.grad.tolist() == [4.0, 4.0, 4.0]
    assert kept[0] is not x.grad


def test_a_retained_gradient_is_not_shared_with_the_leaf() -> None:
    x = rl.ones(3, requires_grad=True)
    y = x + 0
    y.retain_grad()
    y.sum().backward()
    x.grad.add_(7)
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_gradients_can_be_written_in_place() -> None:
    """Broadcast gradients arrive as real memory, not as one repeated element."""
    for make in (lambda x: x.sum(), lambda x: x.expand(4, 3).sum(), lambda x: x.mean(), lambda x: x[1]):
        x = rl.ones(3, requires_grad=True)
        make(x).backward()
        x.grad[0] = 5.0
        x.grad.mul_(2)
        assert x.grad.is_contiguous() and x.grad[0].item() == 10.0


SAME = {
    "kept object": "(x * 2).sum().backward()\ng = x.grad\n(x * 3).sum().backward()\nr = [g is x.grad, g]",
    "new object with a graph": "(x * x).sum().backward(create_graph=True)\ng = x.grad\n(x * x).sum().backward(create_graph=True)\nr = [g is x.grad, g, x.grad]",
    "zeroed in place": "(x * 2).sum().backward()\ng = x.grad\nx.grad.zero_()\nr = [g, x.grad is g]",
    "set to none": "(x * 2).sum().backward()\ng = x.grad\nx.grad = None\n(x * 3).sum().backward()\nr = [g, x.grad]",
    "assigned": "g = torch.ones(3)\nx.grad = g\n(x * 2).sum().backward()\nr = [x.grad is g, g]",
    "no requires_grad": "(x * 2).sum().backward()\nr = [x.grad.requires_grad, x.grad.is_leaf]",
    "twice the same leaf": "(x + x).sum().backward()\nr = x.grad",
    "grad twice the same": "r = torch.autograd.grad((x * 2).sum(), [x, x])",
    "clone of leaf": "y = x.clone()\n(y * 2).sum().backward()\nr = [x.grad, y.is_leaf]",
    "leaf replaced by data": "x.data = torch.zeros(3)\n(x * x).sum().backward()\nr = [x, x.grad]",
    "leaf no longer": "(x * 2).sum().backward()\nx.requires_grad_(False)\nr = [(x * 2).requires_grad, x.grad]",
    "leaf again": "x.requires_grad_(False)\nx.requires_grad_()\n(x * 2).sum().backward()\nr = x.grad",
    "param": "p = nn.Parameter(torch.ones(2))\n(p * 3).sum().backward()\nr = [p.grad, type(p.grad).__name__]",
    "transposed leaf": "p = torch.ones(2, 3).t().requires_grad_()\n(p * torch.arange(6.0).reshape(3, 2)).sum().backward()\nr = p.grad",
}


@pytest.mark.parametrize("name", SAME)
def test_accumulation_as_in_torch(name: str) -> None:
    said("x = torch.tensor([0.5, 1.5, -2.0], requires_grad=True)\n" + SAME[name])


# -- graphs go away --------------------------------------------------------------------------------


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_graph_dies_with_its_result(no_collector) -> None:
    x = rl.ones(10, requires_grad=True)
    y = x.exp()
    gone = weakref.ref(y._a)
    z = (y * y).sin().sum()
    del y
    assert gone() is not None  # sin, mul and exp need it
    del z
    assert gone() is None


def test_backward_frees_what_was_saved(no_collector) -> None:
    x = rl.ones(10, requires_grad=True)
    y = x.exp()
    gone = weakref.ref(y._a)
    z = (y * y).sum()
    del y
    z.backward()
    assert gone() is None and z.grad_fn is not None


def test_retain_graph_keeps_it(no_collector) -> None:
    x = rl.ones(10, requires_grad=True)
    y = x.exp()
    gone = weakref.ref(y._a)
    z = (y * y).sum()
    del y
    z.backward(retain_graph=True)
    assert gone() is not None
    del z
    assert gone() is None


def test_a_dead_leaf_is_passed_by(no_collector) -> None:
    x, w = rl.ones(3, requires_grad=True), rl.ones(3, requires_grad=True)
    y = (x * w).sum()
    gone = weakref.ref(w)
    del w
    assert gone() is None
    y.backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_graph_made_wide_and_deep_by_sharing() -> None:
    """2 ** 40 paths, 40 nodes: each node is walked once."""
    x = rl.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(40):
        y = (y + y) * 0.5
    y.backward()
    assert x.grad.item() == 1.0


# -- what activations keep -------------------------------------------------------------------------


@pytest.mark.parametrize("inplace", [False, True])
def test_a_leaky_relu_keeps_its_result_and_not_its_input(inplace: bool) -> None:
    """The next layer keeps that, too; PyTorch does so in place. A clone of the input was kept there."""
    x = rl.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    h = x * 1
    y = rl.nn.functional.leaky_relu(h, 0.2, inplace)
    kept = y.grad_fn.outputs[0][0]
    assert y.grad_fn.saved is None and np.shares_memory(kept, y.detach().numpy())
    old = weakref.ref(h._a)
    del h
    assert inplace or old() is None
    y.sum().backward()
    assert said(x.grad) == said(rl.tensor([0.2, 0.2, 1.0]))


@pytest.mark.parametrize("inplace", [False, True])
def test_a_leaky_relu_that_turns_the_sign_keeps_its_input(inplace: bool) -> None:
    x = rl.tensor([-2.0, 0.0, 3.0], requires_grad=True)
    y = rl.nn.functional.leaky_relu(x * 1, -0.5, inplace)
    y.sum().backward()
    assert y.tolist() == [1.0, 0.0, 3.0] and x.grad.tolist() == [-0.5, -0.5, 1.0]
