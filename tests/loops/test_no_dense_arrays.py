"""Arrays that are no dense array (sparse, nested, masked, wrapped, meta) in loops and compiled functions: eager, beside dense ones that are traced."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
from traced import both


class _Wrapper(rl.Tensor):
    """A class that is asked about every function."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


def _odd(kind: str, x: Any) -> Any:
    """The sum of squares of a tensor, by way of one that is no dense array."""
    if kind == "sparse":
        return (x.to_sparse() * 2).to_dense().pow(2).sum()
    if kind == "sparse product":
        return rl.sparse.mm(x.relu().to_sparse(), x.t()).pow(2).sum()
    if kind == "csr":
        return (x.relu().to_sparse_csr() @ x.t()).pow(2).sum()
    if kind == "nested":
        parts = rl.nested.nested_tensor([x[:1], x[1:]], layout=rl.jagged)
        return (parts * 2).values().pow(2).sum()
    if kind == "masked":
        return rl.masked.sum(x * 2, 1, mask=x > 0).pow(2).sum()
    if kind == "wrapped":
        return (x.as_subclass(_Wrapper) * 2).pow(2).sum().as_subclass(rl.Tensor)
    assert (x.to("meta") * 2).shape == x.shape
    return (x * 2).pow(2).sum()


ODD = ["sparse", "sparse product", "csr", "nested", "masked", "wrapped", "meta"]


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.filterwarnings("ignore")
def test_arrays_that_are_no_dense_array_in_a_loop(kind: str) -> None:
    def program() -> Any:
        rl.manual_seed(1)
        net = rl.nn.Linear(4, 4)
        optimizer = rl.optim.SGD(net.parameters(), 0.01, momentum=0.9)
        seen = []
        for i in range(24):
            x = rl.randn(3, 4)
            optimizer.zero_grad()
            y = net(x).tanh()
            loss = y.pow(2).mean() + (_odd(kind, y) / 100 if i % 2 or i > 12 else 0)
            loss.backward()
            optimizer.step()
            seen.append(loss.item() + _odd(kind, x).item())
        return seen, net.weight.detach().clone()

    both(program, replays=0)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.filterwarnings("ignore")
def test_arrays_that_are_no_dense_array_in_a_compiled_function(kind: str) -> None:
    def step(x: Any) -> Any:
        return _odd(kind, (x * 0.5).tanh()) + x.sum()

    compiled = rl.compile(step)
    for i in range(8):
        x = rl.arange(12.0).reshape(3, 4) - i
        assert compiled(x).item() == pytest.approx(step(x).item(), rel=1e-6), i
