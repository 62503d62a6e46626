"""Every row of the op table with a dim of size 0: PyTorch's shapes and values, and no error from inside."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pytest

import edges
import rushlight as rl
from optable import Row, all_rows
from rushlight.operators import load_all

torch = pytest.importorskip("torch")
load_all()

# PyTorch's own backward of no points ends the process.
CRASHES = ("pdist", "grid_sample", "ctc_loss")

# What may differ where both have an answer, or where only PyTorch has one; with the reason.
KNOWN = {
    "F.conv1d F.conv2d F.conv3d conv2d convolution": "no input channels: PyTorch's result has no output channels either; ours are the bias",
    "linalg.matrix_norm linalg.norm linalg.cond": "norms of nothing by singular values are refused",
    "F.batch_norm F.instance_norm": "no channels: a weight of another size is refused here",
    "F.group_norm group_norm": "nobody's gradient is None here, NaN there",
    "F.pad": "circular padding of no channels is refused",
    "cdist": "the largest of no differences is refused",
    "gather take_along_dim linalg.matrix_power trapezoid trapz": "constant results need no gradient here",
    "F.scaled_dot_product_attention": "a mask of another size is refused",
    "F.adaptive_avg_pool2d": "a mean of nothing is refused, also where the result has size 1",
    "bincount": "weights of another size are refused",
}
ALLOWED = {name for names in KNOWN for name in names.split()}

# An error that a rule raises has one of these types; anything else came from inside.
RULES = (RuntimeError, IndexError, TypeError, NotImplementedError)


@functools.cache
def empty_rows() -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in all_rows():
        given = row.specs() and all(s.value is None for s in row.specs())
        if given and not row.nondet and row.compare is None:
            if not any(part in row.name for part in CRASHES):
                found.setdefault(row.name, []).append(row)
    return found


def emptied(row: Row) -> Iterator[list[np.ndarray]]:
    """The row's inputs with a dim of the first one gone, alone or with the same dim of its like."""
    arrays = [np.array(a) for a in row.arrays("float32")]
    first = arrays[0]
    for axis in sorted({0, 1, first.ndim - 1}):
        if not 0 <= axis < first.ndim:
            continue
        gone = np.take(first, [], axis=axis)
        yield [gone, *arrays[1:]]
        alike = [
            np.take(a, [], axis=axis) if a.ndim == first.ndim and a.shape[axis] == first.shape[axis] else a
            for a in arrays[1:]
        ]
        if arrays[1:]:
            yield [gone, *alike]


@pytest.mark.parametrize("name", sorted(empty_rows()))
@pytest.mark.filterwarnings("ignore")
def test_nothing_gives_what_pytorch_gives(name: str) -> None:
    bad = []
    for row in empty_rows()[name]:
        for arrays in emptied(row):
            label = f"{row!r} {[a.shape for a in arrays]}"
            ours, theirs = (sum(edges.results(lib, row, arrays), []) for lib in (rl, torch))
            failed = [part and isinstance(part[0], Exception) for part in (ours, theirs)]
            if failed[0] and not isinstance(ours[0], (*RULES, type(theirs[0]))):
                bad.append(f"{label}: {ours[0]!r}")
            elif not failed[1] and name not in ALLOWED:
                said = edges.difference(ours, theirs, 1e-4)
                if said:
                    bad.append(f"{label}: {said}")
    assert not bad, "\n".join(bad)


CLASSES = [((0, 0), (0,)), ((0, 4), (0,)), ((2, 0), (2, 0)), ((0, 4), (0, 4)), ((0, 0, 3), (0, 3)), ((2, 0), (2,))]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shapes", CLASSES, ids=str)
def test_cross_entropy_of_no_samples_or_no_classes(shapes: tuple, reduction: str, smoothing: float) -> None:
    results = []
    for lib in (rl, torch):
        kind = lib.float32 if shapes[0] == shapes[1] else lib.int64
        x, target = lib.ones(*shapes[0]), lib.zeros(*shapes[1], dtype=kind)
        try:
            loss = lib.nn.functional.cross_entropy(x, target, reduction=reduction, label_smoothing=smoothing)
            results.append([loss.numpy()])
        except Exception as error:
            results.append([error])
    assert edges.difference(*results, 1e-6) is None


@pytest.mark.parametrize("name", ["scatter", "scatter_add", "sum", "mean", "amax", "prod"])
def test_nothing_scattered_stays_on_the_graph(name: str) -> None:
    found = []
    for lib in (torch, rl):
        x, src, index = lib.ones(2), lib.ones(0, requires_grad=True), lib.zeros(0, dtype=lib.int64)
        plain = name.startswith("scatter")
        y = getattr(x, name)(0, index, src) if plain else x.scatter_reduce(0, index, src, name)
        y.sum().backward()
        found.append((y.tolist(), src.grad.shape))
    assert found[0] == found[1]


def test_no_elements_have_no_address() -> None:
    for lib in (torch, rl):
        x = lib.zeros(3)
        none = lib.zeros(0, 5)
        assert (
            x[:0].data_ptr()
            == none.data_ptr()
            == none.view(lib.int32).data_ptr()
            == none.untyped_storage().data_ptr()
            == 0
        )
        assert x[:0].untyped_storage().data_ptr() == x.data_ptr() != 0
