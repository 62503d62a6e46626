"""Our kernels against the CPU: every expression, dtype and layout; reductions; scatter; random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

pytestmark = pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")

DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64",
          "bool", "complex64", "complex128"]  # fmt: skip


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    rng = np.random.RandomState(seed)
    d = getattr(rl, dtype)
    if dtype == "bool":
        return rl.from_numpy(np.asarray(rng.rand(*shape) < 0.5))
    if d.is_complex:
        return rl.from_numpy(np.asarray(rng.randn(*shape) + 1j * rng.randn(*shape))).to(d)
    if d.is_floating_point:
        return rl.from_numpy(np.asarray(rng.randn(*shape))).to(d)
    return rl.from_numpy(np.asarray(rng.randint(0 if dtype == "uint8" else -9, 10, shape))).to(d)


def same(got: Any, want: Any, tol: float | None = None) -> None:
    assert got.is_cuda and got.dtype is want.dtype and got.shape == want.shape
    a, b = got.cpu(), want
    if a.dtype is rl.bfloat16:
        a, b = a.float(), b.float()
    limits = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "complex64": 2e-5}
    tol = limits.get(want.dtype.name, 1e-10) if tol is None else tol
    if a.dtype is rl.float16:
        a, b = a.float(), b.float()
    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=tol, atol=tol)


SHAPES = [
    ((7,), (7,)), ((1000,), (1000,)), ((3, 5, 7), (7,)), ((3, 5, 7), (5, 1)), ((4, 1), (1, 6)),
    ((2, 3, 4, 5), (3, 1, 1)), ((5,), ()), ((0, 3), (3,)), ((1, 1), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_broadcasts(dtype: str) -> None:
    for left, right in SHAPES:
        x, y = values(dtype, left), values(dtype, right, 1)
        for name in ("add", "mul", "eq", "maximum", "where"):
            if name == "maximum" and "complex" in dtype:
                continue
            if name == "where":
                want, got = (rl.where(x == y, x, y), rl.where(x.cuda() == y.cuda(), x.cuda(), y.cuda()))
            else:
                want, got = getattr(rl, name)(x, y), getattr(rl, name)(x.cuda(), y.cuda())
            same(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_plus_row(dtype: str) -> None:
    """The last dim by vectors: sizes that are multiples of them and not, aligned and not."""
    for rows, columns in ((5, 64), (7, 33), (64, 1024)):
        x, y = values(dtype, (rows, columns)), values(dtype, (columns,), 1)
        same(x.cuda() + y.cuda(), x + y)
        same(x.cuda()[:, 1:] + y.cuda()[1:], x[:, 1:] + y[1:])
        same(x.cuda() * y.cuda()[:1], x * y[:1])
        same(x.cuda() + x.cuda()[:, :1], x + x[:, :1])
        same(x.cuda()[:, :32] == y.cuda()[:32], x[:, :32] == y[:32])


@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype: str) -> None:
    x = values(dtype, (6, 7, 8))
    views = [
        lambda t: t, lambda t: t.permute(2, 0, 1), lambda t: t[1:, ::2], lambda t: t.flip(0)[:, 1:],
        lambda t: t[:, :, 1:], lambda t: t[::2].transpose(0, 1), lambda t: t[0, 0].expand(3, 8),
    ]  # fmt: skip
    for view in views:
        a, b = view(x), view(x.cuda())
        same(b + b, a + a)
        same(b.clone(), a.clone())
        same(b.contiguous(), a.contiguous())
        same(b == b.clone(), a == a.clone())
        same(b.sum(), a.sum(), 1e-2 if dtype in ("float16", "bfloat16") else 1e-4)


def test_transposed_copies() -> None:
    for shape in ((257, 129), (64, 33, 70), (3, 40, 5, 60)):
        for dtype in ("uint8", "float16", "float32", "float64", "complex128"):
            x = values(dtype, shape)
            for order in ((1, 0), (0, 2, 1), (2, 1, 0), (0, 3, 1, 2), (3, 2, 1, 0)):
                if len(order) == len(shape):
                    same(x.cuda().permute(order).contiguous(), x.permute(order).contiguous(), 0)


@pytest.mark.parametrize("source", DTYPES)
def test_casts(source: str) -> None:
    x = values(source, (3, 5)).abs() if source not in ("bool",) else values(source, (3, 5))
    for target in DTYPES:
        if "complex" in source and "complex" not in target:
            continue
        d = getattr(rl, target)
        same(x.cuda().to(d), x.to(d))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int32", "bool"])
def test_reductions(dtype: str) -> None:
    tol = {"float16": 2e-2, "bfloat16": 5e-2, "float32": 1e-4}.get(dtype, 1e-10)
    for shape in ((5,), (300, 7), (7, 300), (4, 5, 6), (2, 3, 40, 50), (20000,), (3, 9000), (9000, 3)):
        x = values(dtype, shape)
        for dim in (None, *range(-len(shape), len(shape))):
            for name in ("sum", "amax", "amin", "any", "all", "argmax", "argmin", "mean", "prod"):
                if name == "mean" and dtype in ("int32", "bool"):
                    continue
                if name == "prod" and (dtype != "float64" or x.numel() > 1000):
                    continue
                if dtype == "bool" and name.startswith("arg"):
                    continue
                args = () if dim is None else (dim,)
                if dim is None and name in ("amax", "amin"):
                    continue
                want, got = getattr(x, name)(*args), getattr(x.cuda(), name)(*args)
                loose = tol * (x.numel() if name == "sum" else 1)
                same(got, want, 0 if name.startswith("arg") else loose)


def test_reductions_over_several_dims_and_views() -> None:
    x = values("float64", (4, 5, 6, 7))
    for dims in ((0, 2, 3), (0, 1), (1, 3), (2, 3), (0, 1, 2, 3), (0, 3)):
        for keep in (False, True):
            same(x.cuda().sum(dims, keepdim=keep), x.sum(dims, keepdim=keep))
            turned = x.permute(2, 0, 3, 1)
            same(turned.cuda().sum(dims, keepdim=keep), turned.sum(dims, keepdim=keep))
            same(x.cuda()[:, ::2].amax(dims, keepdim=keep), x[:, ::2].amax(dims, keepdim=keep))
    values_, places = x.cuda().max(2)
    same(values_, x.max(2).values)
    same(places, x.max(2).indices)


def test_sums_repeat_exactly() -> None:
    x = rl.randn(1_000_003, device="cuda")
    assert len({x.sum().item() for _ in range(5)}) == 1


def test_nan_travels_through_extremes() -> None:
    x = rl.tensor([1.0, float("nan"), 3.0], device="cuda")
    assert x.max().isnan().item() and x.min().isnan().item()
    assert x.argmax().item() == 1
    assert rl.maximum(x, rl.zeros(3, device="cuda")).isnan().tolist() == [False, True, False]


@pytest.mark.parametrize("deterministic", [False, True])
def test_scatter(deterministic: bool) -> None:
    rl.use_deterministic_algorithms(deterministic)
    try:
        for dtype in ("float32", "float64", "float16", "int32", "int64", "int8"):
            x, src = values(dtype, (5, 6)), values(dtype, (5, 6), 1)
            index = rl.from_numpy(np.random.RandomState(2).randint(0, 5, (4, 6)))
            got = x.cuda().scatter_add(0, index.cuda(), src.cuda())
            same(got, x.scatter_add(0, index, src), 1e-2 if dtype == "float16" else 1e-5)
            for kind in ("prod", "amax", "amin", "mean", "sum"):
                if kind == "mean" and "int" in dtype:
                    continue
                want = x.scatter_reduce(0, index, src, kind, include_self=False)
                got = x.cuda().scatter_reduce(0, index.cuda(), src.cuda(), kind, include_self=False)
                same(got, want, 2e-2 if dtype == "float16" else 1e-5)
            same(x.cuda().gather(0, index.cuda()), x.gather(0, index), 0)
            put = (index[0] % 5, index[1])
            want = x.index_put(put, src[0], accumulate=True)
            got = x.cuda().index_put(tuple(p.cuda() for p in put), src[0].cuda(), accumulate=True)
            same(got, want, 1e-2 if dtype == "float16" else 1e-5)
    finally:
        rl.use_deterministic_algorithms(False)


def test_indexing_gradients() -> None:
    x = rl.randn(6, 5, dtype=rl.float64)
    index = rl.tensor([0, 2, 2, -1])
    mask = x > 0
    for pick in (lambda t, d: t[index.to(d)], lambda t, d: t[:, index.to(d)],
                 lambda t, d: t[mask.to(d)], lambda t, d: t[index.to(d), 1:4],
                 lambda t, d: t[index.to(d), index.to(d)]):  # fmt: skip
        a, b = x.clone().requires_grad_(), x.cuda().requires_grad_()
        (pick(a, "cpu") ** 2).sum().backward()
        (pick(b, "cuda") ** 2).sum().backward()
        same(b.grad, a.grad)


# -- random numbers -------------------------------------------------------------------------------


def test_seeds_repeat_and_states_continue() -> None:
    rl.manual_seed(5)
    a = rl.randn(1000, device="cuda")
    state = rl.cuda.get_rng_state()
    b = rl.randn(1000, device="cuda")
    rl.cuda.set_rng_state(state)
    assert bool((rl.randn(1000, device="cuda") == b).all())
    rl.manual_seed(5)
    assert bool((rl.randn(1000, device="cuda") == a).all())
    assert not bool((a == b).any())
    g = rl.Generator("cuda").manual_seed(3)
    c = rl.rand(10, generator=g, device="cuda")
    assert bool((rl.rand(10, generator=g.manual_seed(3), device="cuda") == c).all())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_distributions(dtype: str) -> None:
    rl.manual_seed(0)
    d = getattr(rl, dtype)
    n = 200_000
    u = rl.rand(n, device="cuda", dtype=d).double()
    assert u.min().item() >= 0 and u.max().item() < 1
    assert abs(u.mean().item() - 0.5) < 0.005 and abs(u.var().item() - 1 / 12) < 0.002
    z = rl.randn(n, device="cuda", dtype=d).double()
    assert abs(z.mean().item()) < 0.01 and abs(z.std().item() - 1) < 0.01
    assert abs((z**4).mean().item() - 3) < 0.12
    e = rl.empty(n, device="cuda", dtype=d).exponential_(2.0).double()
    assert abs(e.mean().item() - 0.5) < 0.01
    c = rl.bernoulli(rl.full((n,), 0.3, device="cuda", dtype=d)).double()
    assert abs(c.mean().item() - 0.3) < 0.01
    drop = rl.nn.functional.dropout(rl.ones(n, device="cuda", dtype=d), 0.25).double()
    assert abs(drop.mean().item() - 1) < 0.01
    assert set(drop.unique().tolist()) == {0.0, float(rl.tensor(1 / 0.75, dtype=d).item())}


def test_integers_permutations_and_counts() -> None:
    rl.manual_seed(0)
    x = rl.randint(-3, 4, (100_000,), device="cuda")
    assert sorted(x.unique().tolist()) == list(range(-3, 4))
    p = rl.randperm(1000, device="cuda")
    assert sorted(p.tolist()) == list(range(1000)) and p.tolist() != list(range(1000))
    w = rl.tensor([1.0, 2.0, 0.0, 1.0], device="cuda")
    m = rl.multinomial(w, 50_000, replacement=True)
    shares = m.bincount(minlength=4) / 50_000
    np.testing.assert_allclose(shares.cpu().numpy(), [0.25, 0.5, 0, 0.25], atol=0.02)
    assert sorted(rl.multinomial(w, 3).tolist()) == [0, 1, 3]
    counts = rl.poisson(rl.full((50_000,), 20.0, device="cuda"))
    assert abs(counts.mean().item() - 20) < 0.2 and abs(counts.var().item() - 20) < 1
    assert abs(rl.poisson(rl.full((50_000,), 2.0, device="cuda")).mean().item() - 2) < 0.05
