"""Joins, triangles, likelihoods and other results that follow from positions, on the emulated GPU beside the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight.nn import functional as F

random = np.random.default_rng(0)


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (random.standard_normal(shape) * 3).astype(dtype)


def same(compute: Callable[..., Any], *arrays: np.ndarray, near: bool = False) -> None:
    """The same on both devices, gradients of what is floating included."""
    found = []
    for device in ("cpu", "cuda"):
        given = [rl.tensor(a).to(device) for a in arrays]
        for t in given:
            t.requires_grad_(t.is_floating_point())
        out = compute(*given)
        parts = [out.detach().cpu().numpy()]
        if out.requires_grad:
            (out * rl.arange(out.numel(), device=device).reshape(out.shape)).sum().backward()
            parts += [t.grad.cpu().numpy() for t in given if t.grad is not None]
        found.append(parts)
    assert len(found[0]) == len(found[1])
    for a, b in zip(*found):
        assert a.dtype == b.dtype and a.shape == b.shape
        if near:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
        else:
            np.testing.assert_array_equal(a, b)


for dim in (0, 1, -1):
    same(lambda a, b, c: rl.cat([a, b, c], dim), *[numbers(3, 4, 5) for _ in range(3)])
    same(lambda a, b: rl.stack([a, b, a], dim), numbers(3, 4), numbers(3, 4))
    same(lambda a, b: rl.cat([a, b], dim), numbers(2, 4, 8), numbers(2, 4, 8))
    same(lambda a, b: rl.cat([a, b[:, :4, :8], a], dim), numbers(2, 4, 8), numbers(2, 5, 9))
    same(lambda a, b: rl.stack([a, b], dim), numbers(3, 8)[1:], numbers(2, 8))
same(lambda a: rl.cat([a[1:], a[1:]]), numbers(7))
for widths in ((1, 2), (0, 3, 2, 0), (-1, 2, 1, -2), (1, 1, 1, 1, 1, 1)):
    same(lambda a: F.pad(a, widths), numbers(2, 3, 4))
    same(lambda a: F.pad(a, widths, value=-2.5), numbers(2, 3, 4))
    same(lambda a: F.pad(a.transpose(0, 2), widths, value=3), numbers(2, 3, 4))
for dtype in (np.uint8, np.int16, np.int64, np.float64, np.bool_):
    same(lambda a: F.pad(a, (1, 2), value=1), numbers(2, 3).astype(dtype))
same(lambda *xs: rl.cat(xs), *[numbers(n, 2) for n in range(1, 40)])
same(lambda a, b: rl.cat([a.t(), b]), numbers(4, 3), numbers(2, 4))
same(lambda a, b: rl.cat([a, b], 1), numbers(4, 3), numbers(4, 0))
same(lambda a, b: rl.cat([a, b], 1), numbers(4, 3, dtype=np.int64), numbers(4, 1, dtype=np.int64))
for diagonal in (-2, 0, 1):
    same(lambda a: a.tril(diagonal), numbers(2, 3, 5))
    same(lambda a: a.triu(diagonal), numbers(4, 3))
same(lambda a: F.one_hot(a, 7), random.integers(0, 7, (2, 5)))
for dtype in (rl.int64, rl.float32):
    same(lambda a: rl.arange(3, 40, 4, dtype=dtype, device=a.device), numbers(1))
    same(lambda a: rl.arange(5, -5, -2, dtype=dtype, device=a.device), numbers(1))
for steps in (2, 7, 40):
    same(lambda a: rl.linspace(-0.3, 2.7, steps, device=a.device), numbers(1))
    same(lambda a: rl.linspace(3, -1, steps, device=a.device, dtype=rl.float64), numbers(1))
same(lambda a: a.roll(2), numbers(3, 4))
same(lambda a: a.roll((1, -2, 1), (0, 2, 0)), numbers(3, 4, 5))
for turned in ((0,), (-1,), (0, 2), (2, 1, 0), ()):
    same(lambda a: a.flip(turned), numbers(3, 4, 5))
mask = random.random((3, 4)) > 0.5
whole = random.integers(0, 99, (3, 4))
same(lambda a, m, v: a.masked_scatter(m, v), whole, mask, np.arange(20))
same(lambda a, m: a.masked_scatter(m[:1], a), whole, mask)
same(lambda a, m, v: a.t().masked_scatter(m.t(), v), numbers(3, 4), mask, numbers(2, 7))
same(lambda a, m: a.index_put((m,), a[m] + 1), whole, mask)
to = random.permuted(np.arange(4).repeat(5).reshape(4, 5), axis=0)  # no place twice in a column
for kind in (np.float32, np.int64):
    x, v = numbers(4, 5, dtype=kind), numbers(6, 7, dtype=kind)
    same(lambda a, i, v: a.scatter(0, i, v), x, to, v)
    same(lambda a, i, v: a.t().scatter(1, i.t()[1:], v.t()), x, to, v)
    same(lambda a, i: a.scatter(-2, i[:2], 3), x, to)
    same(lambda a, i, v: a.scatter_add(1, i[:3, :2] // 4, v), x, to, v, near=True)
same(lambda a, i, v: a.double().scatter(0, i, v.double()).scatter_add(0, i, v.double()), numbers(4, 5), to, numbers(4, 5), near=True)  # fmt: skip
for mode in ("reflect", "replicate", "circular"):
    same(lambda a: F.pad(a, (2, 1), mode=mode), numbers(2, 3, 4))
    same(lambda a: F.pad(a, (2, 1, 0, 3), mode=mode), numbers(2, 4, 5))
    same(lambda a: F.pad(a, (2, -1, 3, 1), mode=mode), numbers(2, 3, 5, 6))
    same(lambda a: F.pad(a.transpose(1, 3), (2, 1, 1, 1), mode=mode), numbers(2, 3, 5, 6))
along = random.integers(-4, 4, (3, 6, 5))
same(lambda a, i: rl.take_along_dim(a, i, 1), numbers(3, 4, 5), along)
same(lambda a, i: rl.take_along_dim(a, i[:, :, :1], 1), numbers(3, 4, 5), along)
same(lambda a, b: rl.linalg.cross(a, b, dim=1), numbers(4, 3, 2), numbers(4, 3, 1), near=True)
same(lambda a, b: rl.linalg.cross(a.t(), b), numbers(3, 4), numbers(1, 3), near=True)
same(lambda a, b: rl.linalg.cross(a, b, dim=0), numbers(3, 4), numbers(3, 4), near=True)
for n in (1, 2, 3, 6):
    same(lambda a: rl.linalg.det(a.detach()), numbers(2, 3, n, n), near=True)
same(lambda a: rl.linalg.det(a.detach()), np.zeros((2, 3, 3), np.float32))
for n in (1, 700, 20000):
    same(lambda a, b: a @ b, numbers(n), numbers(n), near=True)
same(lambda a, b: a[::2] @ b[1::2], numbers(14), numbers(14), near=True)
for size, step in ((3, 1), (2, 3), (4, 2)):
    same(lambda a: a.unfold(1, size, step).contiguous(), numbers(2, 9, 3))
    same(lambda a: a.unfold(0, size, step).contiguous(), numbers(9))
classes = random.integers(0, 7, 5)
for p in (1, 2):
    for weight in ((), (np.arange(1.0, 8.0, dtype=np.float32),)):
        same(
            lambda x, y, w=None: F.multi_margin_loss(
                x, y, p=p, margin=0.7, weight=None if w is None else w.detach(), reduction="none"
            ),
            numbers(5, 7), classes, *weight, near=True,
        )  # fmt: skip
lists = random.integers(-1, 7, (5, 7))
lists[0], lists[1] = -1, 3
same(lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"), numbers(5, 7), lists, near=True)
same(lambda x, y: F.multilabel_margin_loss(x, y), numbers(200, 3).T.copy(), lists[:1].repeat(3, 0).repeat(29, 1)[:, :200], near=True)  # fmt: skip
bags, begin = random.integers(0, 6, 11), np.array([0, 0, 3, 10, 11, 11])
for mode in ("sum", "mean"):
    same(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), numbers(6, 5), bags, begin, near=True)
    same(lambda w, i: F.embedding_bag(i, w, mode=mode), numbers(6, 5), bags[:10].reshape(2, 5), near=True)
rows, columns = random.integers(-4, 4, (2, 9)), random.integers(-5, 5, 9)
same(lambda a, i, j: a[i, j], numbers(4, 5, 3), rows, columns)
same(lambda a, i, j: a[:, i, j], numbers(2, 4, 5), rows, columns)
same(lambda a, i, j: a[i, j, i.int()], numbers(4, 5, 4), rows, columns)
same(lambda a, i: a.index_put((i, i), rl.tensor(2.0, device=a.device)), numbers(4, 4), rows[0])
same(lambda a, i, j, v: a.index_put((i, j), v, accumulate=True), numbers(4, 5), rows[0], columns, numbers(9), near=True)
labels = random.integers(0, 6, (5, 4))
labels[1, 2] = -100
for reduction in ("mean", "sum", "none"):
    for weight in (None, np.arange(1.0, 7.0, dtype=np.float32)):
        given = () if weight is None else (weight,)
        same(
            lambda x, y, w=None, how=reduction: F.nll_loss(
                x, y, None if w is None else w.detach(), reduction=how
            ),
            numbers(5, 6, 4), labels, *given, near=True,
        )  # fmt: skip
        same(lambda x, y, how=reduction: F.nll_loss(x.t(), y[::2], reduction=how), numbers(6, 7), random.integers(0, 6, 14), near=True)  # fmt: skip
        same(lambda x, y, how=reduction: F.nll_loss(x, y, reduction=how), numbers(300, 6), random.integers(0, 6, 300), near=True)  # fmt: skip
same(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.2), numbers(9, 6), labels[:, 0].repeat(2)[:9], near=True)
for keepdim in (False, True):
    same(lambda a: a.std(1, keepdim=keepdim), numbers(6, 40), near=True)
    same(lambda a: a.var((0, 2), correction=0, keepdim=keepdim), numbers(3, 4, 5), near=True)
    same(lambda a: a.logsumexp(1, keepdim=keepdim), numbers(6, 40), near=True)
same(lambda a: a.logsumexp(0), np.array([[-np.inf, np.inf, 1], [-np.inf, 2, 3]], np.float32))
print("equal")
