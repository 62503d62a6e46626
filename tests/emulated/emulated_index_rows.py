"""Rows at computed places on the emulated GPU, beside NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from emulated_capture import copied, on_gpu

import rushlight as rl
from rushlight.runtime.cuda.bodies import index_rows
from rushlight.runtime.devices import overrides

random = np.random.default_rng(0)
SHAPES = (((9, 128), 0), ((7, 6), 0), ((5,), 0), ((3, 6, 8), 1), ((2, 4, 3), 2), ((4, 1, 5), 1), ((6, 300), 0))


def picks(extent: int, *shape: int, dtype: Any) -> np.ndarray:
    """Places with repetitions, some counted from the end."""
    return random.integers(-extent, extent, shape).astype(dtype)


def at(dim: int, index: np.ndarray) -> tuple:
    return (slice(None),) * dim + (index,)


def taken(shape: tuple, dim: int, index: np.ndarray) -> None:
    slots = (0,) * dim + (1,)
    for kind in (np.float32, np.float64, np.int64, np.uint8, np.bool_):
        x = (random.standard_normal(shape) * 50).astype(kind)
        there = overrides("cuda")["index"](on_gpu(x), on_gpu(index), slots=slots)
        np.testing.assert_array_equal(copied(there), x[at(dim, index)])
        if index.ndim == 1:
            there = overrides("cuda")["index_select"](on_gpu(x), on_gpu(index), dim=dim)
            np.testing.assert_array_equal(copied(there), x[at(dim, index)])


def added(shape: tuple, dim: int, index: np.ndarray) -> None:
    slots = (0,) * dim + (1,)
    for kind in (np.float32, np.float64):
        x = random.standard_normal(shape).astype(kind)
        g = random.standard_normal(x[at(dim, index)].shape).astype(kind)
        gradient = overrides("cuda")["index_grad"](on_gpu(g), on_gpu(index), slots=slots, shape=shape)
        expected = np.zeros(shape, kind)
        np.add.at(expected, at(dim, index), g)
        near(gradient, expected)
        how = {"slots": slots, "accumulate": True}
        whole = overrides("cuda")["index_put"](on_gpu(x), on_gpu(g), on_gpu(index), **how)
        near(whole, expected + x)
        into = on_gpu(x)
        there = overrides("cuda")["index_put_into"](into, on_gpu(g), on_gpu(index), **how)
        assert there is into
        near(into, expected + x)
        rows = index_rows.rows_of(shape, slots, (index,))
        in_order = on_gpu(x)
        index_rows._add_in_order(in_order, on_gpu(index), on_gpu(g), rows)
        near(in_order, expected + x)


def written(shape: tuple, dim: int, index: np.ndarray) -> None:
    """Each place once; also into memory whose dims lie in another order."""
    index = np.unique(index % shape[dim])
    for kind in (np.float32, np.uint8):
        x = (random.standard_normal(shape) * 50).astype(kind)
        values = (random.standard_normal(x[at(dim, index)].shape) * 50).astype(kind)
        expected = x.copy()
        expected[at(dim, index)] = values
        how = {"slots": (0,) * dim + (1,), "accumulate": False}
        put = overrides("cuda")["index_put_into"]
        there = put(on_gpu(x), on_gpu(values), on_gpu(index), **how)
        np.testing.assert_array_equal(copied(there), expected)
        turned = on_gpu(np.ascontiguousarray(x.T)).T
        assert put(turned, on_gpu(values), on_gpu(index), **how) is turned
        np.testing.assert_array_equal(copied(turned), expected)


def near(there: Any, expected: np.ndarray) -> None:
    assert there.dtype == expected.dtype and there.shape == expected.shape
    np.testing.assert_allclose(copied(there), expected, rtol=2e-5, atol=2e-5)


def not_aligned() -> None:
    """An array that begins in the middle of a word is moved by smaller ones."""
    x, index = random.standard_normal(1 + 6 * 8).astype(np.float32), np.array([5, 0, 5, -2])
    rows = on_gpu(x)[1:].reshape(6, 8)
    there = overrides("cuda")["index"](rows, on_gpu(index), slots=(1,))
    np.testing.assert_array_equal(copied(there), x[1:].reshape(6, 8)[index])
    g = on_gpu(np.concatenate([x[:1], x[: 4 * 8]]))[1:].reshape(4, 8)
    expected = np.zeros((6, 8), np.float32)
    np.add.at(expected, index, x[: 4 * 8].reshape(4, 8))
    near(overrides("cuda")["index_grad"](g, on_gpu(index), slots=(1,), shape=(6, 8)), expected)


def gathered() -> None:
    """Along any dim, of arrays that lie anyhow, twice: the second call finds the first one's launch."""
    x, index = (random.standard_normal((4, 5, 6)).astype(np.float32), picks(4, 4, 5, 1, dtype=np.int64))
    turned, wide = on_gpu(x).transpose(2, 1, 0), on_gpu(index)
    for _ in range(2):
        there = overrides("cuda")["gather"](on_gpu(x), wide, dim=0)
        np.testing.assert_array_equal(copied(there), np.take_along_axis(x[:, :, :1], index, 0))
        there = overrides("cuda")["gather"](turned[:1], wide.transpose(2, 1, 0), dim=2)
        want = np.take_along_axis(x.transpose(2, 1, 0)[:1], index.transpose(2, 1, 0), 2)
        np.testing.assert_array_equal(copied(there), want)


def refused() -> None:
    """What is not one index is left to other bodies; several in a row are one."""
    values = random.standard_normal((4, 6, 2)).astype(np.float32)
    x, i = on_gpu(values), on_gpu(np.array([3, 0, 1]))
    there = overrides("cuda")["index"](x, i, i, slots=(1, 1))
    np.testing.assert_array_equal(copied(there), values[[3, 0, 1], [3, 0, 1]])
    assert overrides("cuda")["index"](x, i, i, slots=(1, 0, 1)) is NotImplemented


def of_pictures() -> None:
    """Parts of pictures at places and by a mask: read where they lie, and their channels stay where they were."""
    for kind in (np.float32, np.uint8):
        x = (random.standard_normal((7, 3, 9, 12)) * 50).astype(kind)
        mask, index = random.random(7) < 0.6, picks(7, 5, dtype=np.int64)
        last = on_gpu(np.ascontiguousarray(x.transpose(0, 2, 3, 1))).transpose(0, 3, 1, 2)
        for there in (on_gpu(x), last):
            for part in (np.s_[:, :, 2:7, 3:11], np.s_[:, :, 2:7], np.s_[:, 1:, :, :4], np.s_[::2, 1], np.s_[:, :, ::2, ::3]):  # fmt: skip
                want, given = x[part], there[part]
                for chosen in (mask[: len(want)], index % len(want)):
                    found = overrides("cuda")["index"](given, on_gpu(chosen), slots=(1,))
                    if there is last and part == np.s_[:, :, 2:7, 3:11]:
                        assert found.strides == tuple([n * found.itemsize for n in (120, 1, 24, 3)])
                    np.testing.assert_array_equal(copied(index_rows.row_major(found)), want[chosen])


def through_tensors() -> None:
    """The message passing of a graph network, with its gradients."""
    x, source, target = random.standard_normal((12, 8)), picks(12, 40, dtype=np.int64) % 12, None
    target = picks(12, 40, dtype=np.int64) % 12

    def step(device: str) -> tuple:
        t = rl.tensor(x.astype(np.float32)).to(device).requires_grad_()
        s, d = rl.tensor(source).to(device), rl.tensor(target).to(device)
        out = rl.zeros_like(t).index_add(0, d, t[s] * t[s])
        out.backward(out.detach())
        return out.detach().cpu().numpy(), t.grad.cpu().numpy()

    for a, b in zip(step("cuda"), step("cpu")):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


for (shape, dim), dtype in product(SHAPES, (np.int64, np.int32)):
    for index in (picks(shape[dim], 11, dtype=dtype), picks(shape[dim], 2, 3, dtype=dtype)):
        taken(shape, dim, index)
        added(shape, dim, index)
        written(shape, dim, index)
not_aligned()
gathered()
refused()
of_pictures()
through_tensors()
print("equal")
