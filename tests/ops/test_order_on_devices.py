"""sort, topk, kthvalue, median and mode on every device: PyTorch's answers, also inside compiled steps."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch", reason="PyTorch is the oracle")

SHAPES = [
    ((4,), 0), ((6, 9), 1), ((6, 9), 0), ((3, 40, 5), 1), ((2, 700), 1), ((2, 5000), 1), ((9000, 2), 0),
    ((600, 3), 0), ((20000,), 0),
]  # fmt: skip
DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "bool"]


def pair(shape: tuple, dtype: str, device: str, nan: bool = True) -> tuple[Any, Any]:
    """Numbers with many equal ones; with infinities and NaN where there are any."""
    rng = np.random.default_rng(0)
    x = rng.integers(0 if dtype in ("uint8", "bool") else -40, 41, shape).astype(np.float32)
    if "float" in dtype and nan and x.size > 4:
        flat = x.reshape(-1)
        flat[rng.permutation(x.size)[:4]] = (np.nan, -np.inf, np.inf, -0.0)
    theirs = torch.from_numpy(x).to(getattr(torch, dtype))
    return rl.from_numpy(x).to(getattr(rl, dtype)).to(device), theirs


def same(ours: Any, theirs: Any) -> None:
    ours = ours.detach().cpu()
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")
    if "float" in str(theirs.dtype):
        ours, theirs = ours.double(), theirs.double()
    np.testing.assert_array_equal(ours.numpy(), theirs.detach().numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_sorting_keeps_equal_elements_in_order(shape: tuple, dim: int, dtype: str, device: str) -> None:
    x, t = pair(shape, dtype, device)
    for descending in (False, True):
        got = x.sort(dim, descending)
        want = t.sort(dim=dim, descending=descending, stable=True)
        same(got.values, want.values)
        same(got.indices, want.indices)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_topk_and_kthvalue(shape: tuple, dim: int, dtype: str, device: str) -> None:
    x, t = pair(shape, dtype, device)
    n = shape[dim]
    for k in sorted({1, 2, n // 2, n}):
        for largest in (True, False):
            got, want = x.topk(k, dim, largest), t.sort(dim, largest).values.narrow(dim, 0, k)
            same(got.values, want)
            same(x.gather(dim, got.indices), want)
        if dtype != "bool":
            got = x.kthvalue(k, dim)
            want = t.sort(dim).values.select(dim, k - 1)
            same(got.values, want)
            same(x.gather(dim, got.indices.unsqueeze(dim)).squeeze(dim), want)


def test_views_are_put_in_order_as_they_lie(device: str) -> None:
    x, t = pair((12, 10), "float32", device)
    same(x.t().topk(3, 0).values, t.t().topk(3, 0).values)
    same(x[1:, ::2].sort(1).indices, t[1:, ::2].sort(dim=1, stable=True).indices)
    same(x[:, :1].expand(12, 5).sort(1).indices, t[:, :1].expand(12, 5).sort(dim=1, stable=True).indices)


@pytest.mark.parametrize("name", ["median", "nanmedian", "mode"])
def test_middles(name: str, device: str) -> None:
    for shape, dim in SHAPES[:5]:
        x, t = pair(shape, "float32", device, nan=name != "mode")
        same(getattr(x, name)(dim).values, getattr(t, name)(dim).values)
    if name != "mode":
        same(getattr(x, name)(), getattr(t, name)())


def test_a_compiled_step_with_orders_is_one_program(device: str) -> None:
    x, t = pair((8, 30), "float32", device, nan=False)

    def step(module: Any, a: Any) -> Any:
        a = a * a + module.arange(30, device=a.device)
        values, _ = a.topk(4, -1)
        low = a.topk(3, 0, largest=False).values
        return (values * values).sum() + (a.sort(1).values[:, :5] * low[:1, :5]).sum() + a.kthvalue(2, 1).values.sum()

    t = t.clone().requires_grad_()
    want = step(torch, t)
    want.backward()
    compiled = rl.compile(lambda a: step(rl, a))
    for _ in range(4):
        a = x.clone().requires_grad_()
        got = compiled(a)
        got.backward()
        np.testing.assert_allclose(got.item(), want.item(), rtol=1e-5)
        np.testing.assert_allclose(a.grad.cpu().numpy(), t.grad.numpy(), rtol=1e-5, atol=1e-4)
    assert "cannot be part" not in str(compiled.why())


def test_scatter_reduce_inside_a_compiled_step(device: str) -> None:
    """Folding at equal places sorts them: no part of it may ask the host."""
    at = rl.tensor(np.random.default_rng(1).integers(0, 9, (50, 3))).to(device)

    def step(a: Any) -> Any:
        out = a.new_zeros(9, 3).scatter_reduce(0, at, a, "amax")
        return out + a.new_zeros(9, 3).scatter_reduce(0, at, a, "prod", include_self=False)

    x = rl.tensor(np.random.default_rng(2).standard_normal((50, 3)).astype(np.float32)).to(device)
    compiled = rl.compile(step)
    t, i = torch.from_numpy(x.cpu().numpy()), torch.from_numpy(at.cpu().numpy())
    want = t.new_zeros(9, 3).scatter_reduce(0, i, t, "amax")
    want = want + t.new_zeros(9, 3).scatter_reduce(0, i, t, "prod", include_self=False)
    for _ in range(4):
        np.testing.assert_allclose(compiled(x).cpu().numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
    assert "cannot be part" not in str(compiled.why())


def test_places_in_sorted_rows(device: str) -> None:
    rng = np.random.default_rng(4)
    rows, values = np.sort(rng.integers(-9, 9, (4, 20)), -1), rng.integers(-12, 12, (4, 30))
    for dtype in ("float32", "float16", "bfloat16", "int64", "uint8"):
        ours = [rl.tensor(np.abs(a)).to(getattr(rl, dtype)).sort(-1).values.to(device) for a in (rows, values)]
        theirs = [torch.tensor(np.abs(a)).to(getattr(torch, dtype)).sort(-1).values for a in (rows, values)]
        for right in (False, True):
            same(rl.searchsorted(*ours, right=right), torch.searchsorted(*theirs, right=right))
            got = rl.bucketize(ours[1], ours[0][1], right=right, out_int32=True)
            same(got, torch.bucketize(theirs[1], theirs[0][1], right=right, out_int32=True))


def test_draws_by_weights_inside_a_compiled_step(device: str) -> None:
    weights = rl.tensor([[0.0, 1.0, 2.0, 0.0, 3.0], [1.0, 0.0, 0.0, 5.0, 0.0]]).to(device)

    def draw(w: Any) -> tuple:
        return w.multinomial(2), w.multinomial(40, replacement=True), w.multinomial(1)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for run in (draw, rl.compile(draw)):
            for _ in range(4):
                apart, many, one = run(weights)
                for found in (apart, many, one):
                    assert (weights.gather(1, found) > 0).all()
                assert (apart[:, 0] != apart[:, 1]).all() and len(set(many[1].tolist())) == 2
        with pytest.raises(RuntimeError, match="element < 0"):  # a replay refuses it, too
            run(-weights)
    if device == "cuda":  # where the host looks at the weights, which no graph does
        assert "because multinomial" in str(told.pop(0).message)
        told = [w for w in told if "because" not in str(w.message)]
    assert not told


def test_a_permutation_on_a_device(device: str) -> None:
    for n in (1, 7, 5000):
        assert sorted(rl.randperm(n, device=device).tolist()) == list(range(n))


@pytest.mark.parametrize("weights", [[1.0, -1], [1, float("inf")], [float("nan"), 1], [0, 0]])
@pytest.mark.parametrize("count", [1, 2])
def test_rows_that_are_no_weights_are_refused(device: str, weights: list, count: int) -> None:
    rows = rl.tensor([[1.0, 1.0], weights]).to(device)
    with pytest.raises(RuntimeError, match="probabilit"):
        rl.multinomial(rows, count, replacement=count > 1)
    assert rl.multinomial(rows[:1], count).shape == (1, count)
