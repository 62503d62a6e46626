"""Kernels of the CPU beside PyTorch: distances of pairs, bags of rows, draws, sums of sparse tensors, places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.runtime.cpu import places
from rushlight.runtime.cpu.random import Stream

torch = pytest.importorskip("torch", reason="compared with PyTorch")
INF = float("inf")


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).randn(*shape).astype("float32")


# -- distances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1.0, 2.0, INF])
def test_distances_of_equal_points_ties_nan_and_inf(p: float) -> None:
    a = np.array([[1, 2, 1, 2, 0], [3, 5, 3, 5, 0], [0, np.nan, 0, 0, 0], [INF, 0, 0, 0, 1]], "f")
    b = np.array([[1, 2, 1, 2, 0], [0, 0, 0, 0, 0]], "f")
    out = []
    for lib in (rl, torch):
        x, y = lib.from_numpy(a.copy()).requires_grad_(), lib.from_numpy(b.copy()).requires_grad_()
        d = lib.cdist(x, y, p=p)
        d[:2].sum().backward()
        out.append((d.detach().numpy(), x.grad[:2].numpy()))
    assert np.isnan(out[0][0][2]).all()
    if p == INF:  # where PyTorch's vectors may leave a NaN out
        out[1][0][2] = np.nan
    np.testing.assert_allclose(out[0][0], out[1][0], rtol=1e-6)
    np.testing.assert_allclose(out[0][1], out[1][1], rtol=1e-6)


# -- bags ------------------------------------------------------------------------------------------


def test_gradients_of_bags_by_frequency() -> None:
    """PyTorch 2.13 divides some rows by the counts of others."""
    at, grads = rl.tensor([5, 0, 3, 3, 7, 3, 5]), []
    for freq in (False, True):
        w = rl.from_numpy(numbers(9, 4)).requires_grad_()
        out = rl.nn.functional.embedding_bag(at, w, rl.tensor([0, 3]), scale_grad_by_freq=freq)
        out.backward(rl.from_numpy(numbers(2, 4, seed=1)))
        grads.append(w.grad.numpy())
    counts = np.bincount(at.numpy(), minlength=9).clip(1)[:, None]
    np.testing.assert_allclose(grads[1], grads[0] / counts, rtol=1e-6)


def test_bags_that_do_not_fit() -> None:
    F, w = rl.nn.functional, rl.zeros(3, 2)
    for starts in ([1, 2], [0, 5]):
        for lib in (rl, torch):
            with pytest.raises(RuntimeError):
                lib.nn.functional.embedding_bag(lib.tensor([0, 1, 2]), lib.zeros(3, 2), lib.tensor(starts), mode="sum")
    with pytest.raises(RuntimeError, match="must not decrease"):
        F.embedding_bag(rl.tensor([0, 1, 2]), w, rl.tensor([0, 2, 1]), mode="sum")
    for wrong, mode in ((3, "sum"), (-1, "mean")):
        with pytest.raises(RuntimeError, match=f"found idx to be {wrong}"):
            F.embedding_bag(rl.tensor([0, wrong]), w, rl.tensor([0]), mode=mode)


# -- draws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (5,), (500,), (7, 300), (3, 1), (64, 2)])
def test_draws_by_weights_are_pytorchs(shape: tuple) -> None:
    w = np.abs(numbers(*shape))
    if shape[-1] > 2:
        w[..., 0] = w[..., -1] = 0
    for count in (2, 5, 1000):
        out = [
            lib.multinomial(lib.from_numpy(w), count, replacement=True, generator=lib.Generator().manual_seed(3))
            for lib in (rl, torch)
        ]
        assert out[0].dtype is rl.int64
        np.testing.assert_array_equal(out[0].numpy(), out[1].numpy())


@pytest.mark.parametrize("bad", [[1.0, -1.0], [1.0, float("nan")], [1.0, INF], [0.0, 0.0]])
def test_wrong_weights_draw_nothing(bad: list) -> None:
    g = rl.Generator().manual_seed(0)
    before = g.get_state().tolist()
    for lib in (rl, torch):
        with pytest.raises(RuntimeError):
            lib.multinomial(lib.tensor([[0.5, 0.5], bad]), 4, replacement=True, generator=(
                g if lib is rl else torch.Generator()))  # fmt: skip
    assert g.get_state().tolist() == before


@pytest.mark.parametrize("n", [16, 17, 4099])
def test_normal_numbers_agree_with_those_of_numpy(n: int, monkeypatch: Any) -> None:
    """And both leave the stream in one state."""
    one, other = Stream(5), Stream(5)
    for given in ((), (0.1, 0.7), (0.0, 2.0)):
        found = one.normal((n,), np.dtype("f"), *given)
        with monkeypatch.context() as without:
            without.setattr("rushlight.runtime.cpu.words._native", lambda: None)
            wanted = other.normal((n,), np.dtype("f"), *given)
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)
        np.testing.assert_array_equal(one.get_state(), other.get_state())


# -- sparse tensors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 2])
def test_sums_of_sparse_tensors(dims: int) -> None:
    r = np.random.RandomState(1)
    for n, m in ((6, 9), (1, 5), (40, 40)):
        at = [r.randint(0, 5, (dims, k)) for k in (n, m)]
        v = [numbers(k, 3, seed=k) for k in (n, m)]
        out = []
        for lib in (rl, torch):
            size = (5,) * dims + (3,)
            x, y = (
                lib.sparse_coo_tensor(lib.from_numpy(i), lib.from_numpy(w), size, check_invariants=True)
                for i, w in zip(at, v)
            )
            total = x + y
            one = total.coalesce()
            out.append((total._indices(), total._values(), one.indices(), one.values()))
        for k, (found, wanted) in enumerate(zip(*out)):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6, err_msg=str(k))


# -- places ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_places(dtype: str) -> None:
    for good in ([0], [4, 0, 3], list(range(5)) * 9):
        assert places.within(np.array(good, dtype), 5)
        assert places.within(np.array(good * 2, dtype)[::2], 5)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for wrong in (-1, 5, least, most):
        for where in (0, 7, 20):
            a = np.arange(21).astype(dtype) % 5
            a[where] = wrong
            assert not places.within(a, 5)
            assert not places.within(np.repeat(a, 2)[::2], 5)
