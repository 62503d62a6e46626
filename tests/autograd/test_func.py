"""torch.func: derivatives of functions and maps over batches, side by side with PyTorch."""

from __future__ import annotations

import pytest

import rushlight as rl
from side_by_side import agree

SETUP = """
from math import pi
func = torch.func
x = torch.arange(6.0).reshape(2, 3) / 3
y = torch.tensor(2.0, requires_grad=True)
v = torch.tensor([0.5, -1.0, 2.0])
"""

SAME = [
    "func.grad(lambda a: (a ** 3).sum())(x)",
    "func.grad(lambda a, b: (a * b).sum(), argnums=1)(x, x + 1)",
    "func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x + 1)",
    "func.grad(lambda a: (a.sum(), {'twice': a * 2}), has_aux=True)(x)",
    "func.grad(lambda d: (d['a'] * d['b'][0]).sum())({'a': x, 'b': [x]})",
    "func.grad_and_value(lambda a: a.sin().sum())(x)",
    "func.grad(func.grad(lambda a: a ** 3))(torch.tensor(2.0))",
    "func.grad(func.grad(func.grad(lambda a: a ** 4)))(torch.tensor(2.0))",
    "func.grad(lambda a: torch.tensor(1.0))(x)",
    "func.grad(lambda a: a * y)(torch.tensor(3.0)).requires_grad",
    "func.grad(lambda a: a * y * a)(torch.tensor(3.0))",
    "func.grad(lambda a: (a ** 2).sum())(x).requires_grad",
    "func.vjp(lambda a: a.sin(), x)[0]",
    "func.vjp(lambda a: a.sin(), x)[1](x)",
    "func.vjp(lambda a, b: (a * 2, a * b), x, x)[1]((x, x))",
    "func.jacrev(lambda a: a.sin())(x)",
    "func.jacrev(lambda a: {'k': a * 2, 'l': [a.sum()]})(v)",
    "func.jacrev(lambda a, b: a * b, argnums=(0, 1))(v, v + 1)",
    "func.jacfwd(lambda a: a.exp())(v)",
    "func.hessian(lambda a: (a ** 3).sum() * a[0])(v)",
    "func.hessian(lambda a, b: (a * a * b).sum(), argnums=(0, 1))(v, v + 1)",
    "func.vmap(lambda a: a * 2)(x)",
    "func.vmap(torch.dot)(x, x + 1)",
    "func.vmap(torch.dot, in_dims=(1, None))(x, torch.ones(2))",
    "func.vmap(lambda a: a * 2, out_dims=1)(x)",
    "func.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x)",
    "func.vmap(lambda a: {'s': a.sum()})(x)",
    "func.vmap(lambda d: d['a'] + d['b'], in_dims=({'a': 0, 'b': None},))({'a': x, 'b': v})",
    "func.vmap(lambda a, k: a * k, in_dims=(0, None))(x, 3)",
    "func.vmap(func.grad(lambda a: a ** 3))(v)",
    "func.vmap(func.vmap(lambda a: a + 1))(x)",
    "torch.vmap(lambda a: a.sum())(x)",
    "func.vmap(lambda a: a + torch.rand(1), randomness='different')(torch.zeros(3)).unique().numel()",
    "func.vmap(lambda a: a + torch.rand(1), randomness='same')(torch.zeros(3)).unique().numel()",
    "torch.autograd.grad(func.vmap(lambda a: a * y)(v).sum(), y)",
    "(lambda z: func.vmap(lambda g: torch.autograd.grad(z, y, g)[0])(torch.eye(3)))((v * y).sin() * y)",
    "func.stack_module_state([nn.Linear(2, 3), nn.Linear(2, 3)])",
    "func.functional_call(nn.Linear(3, 1, bias=False), {'weight': torch.ones(1, 3)}, (x,))",
    "func.functional_call(type('Plain', (nn.Module,), {'a': y, 'forward': lambda m, b: m.a + m.new + b})(), {'a': y * 2, 'new': y}, (x,))",
]

REFUSED = [
    "func.grad(lambda a: a)(x)",
    "func.grad(lambda a: 2)(x)",
    "func.grad(lambda a: a.sum(), argnums=2)(x)",
    "func.grad(lambda a: a.sum())(3)",
    "func.vjp(lambda a: a * 2, x)[1](x[0])",
    "func.vmap(lambda a: a * 2, in_dims=2)(x)",
    "func.vmap(lambda a: a * 2, in_dims=(0, 0))(x)",
    "func.vmap(lambda a: a * 2)()",
    "func.vmap(lambda a: a * 2, in_dims=None)(x)",
    "func.vmap(lambda a, b: a * b)(x, x[:1])",
    "func.vmap(lambda a: 2)(x)",
    "func.vmap(lambda a: a * 2)(3)",
    "func.vmap(lambda a: torch.rand(1) * a)(x)",
    "func.vmap(lambda a: a * 2, randomness='some')(x)",
    "func.stack_module_state([])",
    "func.functional_call(nn.Linear(3, 1), {'weight': 3}, (x,))",
    "func.functional_call(nn.Linear(3, 1), {'in_features': x}, (x,))",
    "func.functional_call(nn.Linear(3, 1), {'': x}, (x,))",
]


@pytest.mark.parametrize("source", SAME + REFUSED)
def test_as_in_torch(source: str) -> None:
    agree(SETUP + f"r = {source}")


def test_per_sample_gradients() -> None:
    """The use most scripts have for func: one gradient for each sample of a batch."""
    agree(
        """
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
params = {k: v.detach() for k, v in net.named_parameters()}
x, t = torch.randn(5, 3), torch.randint(2, (5,))
def loss(p, a, b):
    out = torch.func.functional_call(net, p, (a.unsqueeze(0),))
    return F.cross_entropy(out, b.unsqueeze(0))
r = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, t)
"""
    )


def test_an_outer_backward_goes_through_an_inner_gradient() -> None:
    agree(
        """
w = torch.tensor([1.0, 2.0], requires_grad=True)
g = torch.func.grad(lambda a: (a ** 3 * w).sum())(torch.tensor([3.0, 4.0]))
g.sum().backward()
r = [g, w.grad]
"""
    )


def test_no_grad_around_a_transform_does_not_reach_inside() -> None:
    agree(
        """
with torch.no_grad():
    g = torch.func.grad(lambda a: (a ** 2).sum())(torch.tensor([1.0, 2.0]))
r = [g, g.requires_grad]
"""
    )


def test_jacobians_of_a_function_without_inputs_in_it() -> None:
    x = rl.ones(2)
    assert rl.func.jacrev(lambda a: rl.zeros(3))(x).tolist() == [[0.0, 0.0]] * 3
    assert rl.func.jvp(lambda a: rl.ones(3), (x,), (x,))[1].tolist() == [0.0] * 3


def test_batch_norm_without_statistics() -> None:
    net = rl.nn.Sequential(rl.nn.BatchNorm1d(2))
    rl.func.replace_all_batch_norm_modules_(net)
    assert net[0].running_mean is None
    net(rl.ones(3, 2))


def test_batched_gradients() -> None:
    agree(
        """
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 3
r = torch.autograd.grad(y, x, torch.eye(2), is_grads_batched=True)
"""
    )


def test_products_with_a_direction() -> None:
    """Apart, because PyTorch warns of its own machinery when forward mode is first used."""
    x, d = rl.tensor([0.5, 2.0]), rl.tensor([1.0, -1.0])
    value, product = rl.func.jvp(lambda a: a.exp(), (x,), (d,))
    assert value.tolist() == x.exp().tolist() and not product.requires_grad
    assert product.tolist() == (x.exp() * d).tolist()
    value, product = rl.func.jvp(lambda a, b: (a * b, b), (x, d), (d, x))
    assert [t.tolist() for t in product] == [(d * d + x * x).tolist(), x.tolist()]
    value, push = rl.func.linearize(rl.sin, x)
    assert push(d).tolist() == (x.cos() * d).tolist()
