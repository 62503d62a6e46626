"""Adding, folding and reading at places that an index names, on the CPU: PyTorch's numbers and any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
draws = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return draws.standard_normal(shape).astype(np.float32)


def places(most: int, *shape: int) -> Any:
    return draws.integers(0, most, shape)


def both(make: Any, *arrays: Any) -> None:
    """`make(library, *tensors)` by both libraries: results and the gradients of all floats agree."""
    found = []
    for library in (torch, rl):
        given = [library.tensor(a) for a in arrays]
        wanted = [t.requires_grad_() for t in given if t.dtype.is_floating_point]
        out = make(library, *given)
        (out * library.arange(out.numel()).reshape(out.shape)).sum().backward()
        found.append([out.detach().numpy(), *[t.grad.numpy() for t in wanted]])
    for want, got in zip(*found):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("width", [(), (1,), (3,), (16,), (5, 7)], ids=str)
@pytest.mark.parametrize("dim", [0, 1])
def test_index_add(dim: int, width: tuple) -> None:
    lead = (4,) * dim
    x, source, at = numbers(*lead, 9, *width), numbers(*lead, 40, *width), places(9, 40)
    both(lambda t, x, s, i: x.index_add(dim, i, s), x, source, at)
    both(lambda t, x, s, i: x.index_add(dim, i.int(), s, alpha=2.5), x, source, at)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_along_a_dim(dim: int) -> None:
    x, source, at = numbers(5, 6, 7), numbers(5, 6, 7), places(5, 5, 6, 7)
    both(lambda t, x, s, i: x.scatter_add(dim, i, s), x, source, at)
    both(lambda t, x, i: x.gather(dim, i), x, at)
    for kind in ("amax", "amin", "prod", "mean", "sum"):
        for own in (True, False):
            both(
                lambda t, x, s, i, k=kind, o=own: x.scatter_reduce(dim, i, s, k, include_self=o),
                x, source, at,
            )  # fmt: skip


def test_shorter_index_and_longer_source() -> None:
    x, source, at = numbers(5, 6), numbers(9, 6), places(5, 4, 6)
    for some in (6, 3):  # PyTorch has no gradient for the source here
        got = rl.tensor(x).scatter_add(0, rl.tensor(at[:, :some]), rl.tensor(source))
        want = torch.tensor(x).scatter_add(0, torch.tensor(at[:, :some]), torch.tensor(source))
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-5)
    both(lambda t, x, i: x.gather(1, i[:, :2]), x, at)


@pytest.mark.parametrize("turned", [False, True])
def test_expanded_index(turned: bool) -> None:
    x, source, at = numbers(6, 8), numbers(30, 8), places(6, 30)
    if turned:
        x, source = x.T.copy().T, source.T.copy().T
    both(lambda t, x, s, i: x.scatter_add(0, i.unsqueeze(1).expand(-1, 8), s), x, source, at)
    both(lambda t, x, i: x.gather(0, i.unsqueeze(1).expand(-1, 8)), x, at)
    both(lambda t, x, i: x.t().gather(1, i.unsqueeze(0).expand(8, -1)), x, at)


def test_gradients_of_indexing() -> None:
    x, i, j = numbers(5, 6, 7), places(5, 20), places(6, 20)
    both(lambda t, x, i, j: x[i], x, i, j)
    both(lambda t, x, i, j: x[i - 5], x, i, j)
    both(lambda t, x, i, j: x[:, j], x, i, j)
    both(lambda t, x, i, j: x[i, j], x, i, j)
    both(lambda t, x, i, j: x[:, i, j], x, i, j)
    both(lambda t, x, i, j: x[i, :, j], x, i, j)
    both(lambda t, x, i, j: x[i.reshape(4, 5), j.reshape(4, 5)], x, i, j)
    both(lambda t, x, i, j: x[i[:3, None], j], x, i, j)


def test_index_put_adds() -> None:
    x, v, i, j = numbers(5, 6), numbers(20), places(5, 20), places(6, 20)
    both(lambda t, x, v, i, j: x.index_put((i, j), v, accumulate=True), x, v, i, j)
    both(lambda t, x, v, i, j: x.index_put((i,), v[:6], accumulate=True), x, v, i, j)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        rl.zeros(4, 6).index_put((rl.tensor([0, 1]),), rl.zeros(6, 2), accumulate=True)


def test_nan_wins() -> None:
    x = rl.tensor([0.0, float("nan"), 2.0])
    at, source = rl.tensor([0, 1, 2, 2]), rl.tensor([1.0, 5.0, float("nan"), 3.0])
    for kind in ("amax", "amin"):
        got = x.scatter_reduce(0, at, source, kind).numpy()
        assert np.isnan(got).tolist() == [False, True, True]


def test_places_out_of_range() -> None:
    x = rl.zeros(4, 6, requires_grad=True)
    for call in (
        lambda: x.index_add(0, rl.tensor([4]), rl.zeros(1, 6)),
        lambda: x.scatter_add(0, rl.tensor([[4]]), rl.zeros(1, 1)),
        lambda: x.gather(1, rl.tensor([[6]])),
        lambda: x.gather(1, rl.tensor([[-1]])),
    ):
        with pytest.raises(RuntimeError, match="out of bounds"):
            call()
    with pytest.raises(IndexError, match="out of bounds"):
        x[rl.tensor([4])]


def test_same_bits_on_any_number_of_threads() -> None:
    before = rl.get_num_threads()
    x, at = rl.tensor(numbers(20000, 32)), rl.tensor(places(50, 20000))
    wide = rl.tensor(places(50, 20000, 32))
    try:
        found = []
        for threads in (1, 2, 3):
            rl.set_num_threads(threads)
            start = rl.zeros(50, 32)
            found.append([start.index_add(0, at, x), start.scatter_add(0, wide, x)])
    finally:
        rl.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other):
            assert np.array_equal(a.numpy(), b.numpy())
