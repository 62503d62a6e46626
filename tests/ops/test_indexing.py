"""Brackets against PyTorch: every form of index, read and assigned, with gradients and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rushlight as rl

torch = pytest.importorskip("torch")

SHAPE = (3, 4, 2)


def both(lib: Any, shape: tuple = SHAPE, grad: bool = False) -> Any:
    n = int(np.prod(shape))
    x = lib.arange(n, dtype=lib.float64).reshape(shape) + 1
    return x.requires_grad_() if grad else x


def translate(lib: Any, index: Any) -> Any:
    """Index tensors are written as ("t", nested list) so that both libraries can make them."""
    if isinstance(index, tuple) and len(index) == 2 and index[0] == "t":
        return lib.tensor(index[1])
    if isinstance(index, tuple):
        return tuple(translate(lib, i) for i in index)
    return index


def same(ours: Any, theirs: Any) -> None:
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_array_equal(ours.detach().numpy(), theirs.detach().numpy())


INDICES: list[Any] = [
    0, -1, 2, (0, 1), (0, 1, 1), (-1, -1, -1), slice(None), slice(1, None), slice(None, None, 2),
    slice(5, 9), slice(-2, None), slice(2, 1), None, (None, 0), (0, None), (..., 0), (0, ...), ...,
    (..., None), (None, ..., None), (slice(None), 0), (slice(None), slice(1, 3), 0), (), True, False,
    (True, 0), (0, True), (slice(None), True), ("t", 1), ("t", [0, 2]), ("t", [[0, 1], [2, 0]]),
    ("t", [-1, 0]), (slice(None), ("t", [1, 3])), (("t", [0, 1]), ("t", [1, 2])),
    (("t", [[0], [1]]), ("t", [1, 2])), (("t", [0, 1]), slice(None), ("t", [1, 0])),
    (0, slice(None), ("t", [1, 0])), (("t", [0, 1]), 1), (1, ("t", [0, 1])),
    (slice(0, 2), ("t", [0, 1])), (..., ("t", [1, 0, 1])), (("t", [0, 1]), None, ("t", [2, 3])),
    (None, ("t", [0, 1])), ("t", [True, False, True]), ("t", [[True, False, True, False]] * 3),
    (("t", [True, False, True]), ("t", [0, 1])), (slice(None), ("t", [True, False, True, False])),
    (("t", [True, False, True]), 1), ("t", []) if False else [], [0, 2], [[0, 1], [1, 2]],
    [True, False, True], (slice(None), [0, 1]), ([0, 1], [1, 2]), ("t", True), (0, ("t", False)),
    range(2), [0, slice(None)], np.int64(1), (slice(None, 2), None, ("t", [0, 1]), ..., 0),
    (slice(1, 1), ("t", [0])), (("t", 0), slice(None), ("t", 1)), slice(np.int64(1), None),
]  # fmt: skip


def label(index: Any) -> str:
    return repr(index).replace(" ", "").replace("None", "")[:60]


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", INDICES, ids=label)
def test_reading(index: Any) -> None:
    x, y = both(rl), both(torch)
    ours, theirs = x[translate(rl, index)], y[translate(torch, index)]
    same(ours, theirs)
    assert ours._is_view() == theirs._is_view()
    shares = np.shares_memory(ours._a, x._a)
    assert shares == (theirs._is_view() and theirs.numel() > 0)


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("index", INDICES, ids=label)
def test_gradient_of_reading(index: Any) -> None:
    grads = []
    for lib in (rl, torch):
        x = both(lib, grad=True)
        part = x[translate(lib, index)]
        (part * part).sum().backward()
        grads.append(x.grad)
    same(*grads)


@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
@pytest.mark.parametrize("how", ["number", "scalar", "full", "broadcast"])
@pytest.mark.parametrize("index", INDICES, ids=label)
def test_assigning(index: Any, how: str) -> None:
    results = []
    for lib in (rl, torch):
        x, base = both(lib, grad=True), both(lib, grad=True)
        y = base * 1
        at = translate(lib, index)
        shape = tuple(y[at].shape)
        size = int(np.prod(shape))
        value: Any = {
            "number": 2.5,
            "scalar": x[0, 0, 0],
            "full": (x.sum() * lib.arange(size, dtype=lib.float64)).reshape(shape),
            "broadcast": x[:1, :1, :1] if len(shape) else x[0, 0, 1],
        }[how]
        y[at] = value
        (y * y).sum().backward()
        results.append((y, base.grad, x.grad))
    for ours, theirs in zip(*results):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            same(ours, theirs)


def test_an_int_gives_a_zero_dim_view() -> None:
    x = both(rl, (2, 3))
    v = x[0, 1]
    assert v.shape == () and v._is_view()
    v.fill_(9)
    assert x[0, 1].item() == 9


ERRORS: list[tuple[Any, str]] = [
    (5, "index 5 is out of bounds for dimension 0 with size 3"),
    (-4, "index -4 is out of bounds for dimension 0 with size 3"),
    ((0, 9), "index 9 is out of bounds for dimension 1 with size 4"),
    ((0, 0, 0, 0), "too many indices for tensor of dimension 3"),
    (slice(None, None, -1), "step must be greater than zero"),
    (("t", [5]), "index 5 is out of bounds for dimension 0 with size 3"),
    (("t", [-4]), "index -4 is out of bounds for dimension 0 with size 3"),
    (("t", 7), "index 7 is out of bounds for dimension 0 with size 3"),
    (("t", [1.0]), "tensors used as indices must be long, int, byte or bool tensors"),
    ((("t", [0, 1]), ("t", [0, 1, 2])), "shape mismatch: indexing tensors could not be broadcast"),
    (("t", [True, False]), "The shape of the mask [2] at index 0 does not match the shape of the"),
    (1.5, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are"),
    ({}, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are"),
]


@pytest.mark.parametrize("index,words", ERRORS, ids=[label(i) for i, _ in ERRORS])
def test_errors_are_pytorchs(index: Any, words: str) -> None:
    kinds = []
    for lib in (rl, torch):
        with pytest.raises((IndexError, ValueError, TypeError)) as caught:
            both(lib)[translate(lib, index)]
        kinds.append(caught.type)
        assert str(caught.value).startswith(words)
    assert kinds[0] is kinds[1]


def test_errors_of_zero_dim_tensors() -> None:
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        rl.tensor(1.0)[0]
    with pytest.raises(IndexError, match="slice.. cannot be applied to a 0-dim tensor"):
        rl.tensor(1.0)[:]


BAD_VALUES: list[tuple[Any, Any, str]] = [
    (0, [1, 2], "can't assign a list to a"),
    (0, np.ones((4, 2)), "can't assign a numpy.ndarray to a"),
    (0, None, "can't assign a NoneType to a"),
    (0, ("t", [1.0, 2.0, 3.0]), "The expanded size of the tensor"),
    (("t", [0, 1]), ("t", [1.0, 2.0, 3.0]), "shape mismatch: value tensor of shape [3] cannot be"),
    (("t", [0, 1]), ("t", [1, 2]), "Index put requires the source and destination dtypes match"),
]


@pytest.mark.parametrize("index,value,words", BAD_VALUES, ids=[w[:30] for *_, w in BAD_VALUES])
def test_bad_values(index: Any, value: Any, words: str) -> None:
    kinds = []
    for lib in (rl, torch):
        x = both(lib).float() if words.startswith("shape") else both(lib)
        v = translate(lib, value)
        with pytest.raises((TypeError, RuntimeError)) as caught:
            x[translate(lib, index)] = v
        kinds.append(caught.type)
        assert str(caught.value).startswith(words)
    assert kinds[0] is kinds[1]


def test_assigned_values_are_converted() -> None:
    for value in (True, 1.7, np.float64(3.9)):
        x, y = rl.arange(4), torch.arange(4)
        x[1:3] = value
        y[1:3] = value
        assert x.tolist() == y.tolist()
    x, y = rl.zeros(3), torch.zeros(3)
    x[0], y[0] = rl.tensor(5, dtype=rl.int64), torch.tensor(5)
    assert x.tolist() == y.tolist()
    for value in (1j, float("nan"), 300):
        for lib in (rl, torch):
            x = lib.zeros(2, dtype=lib.uint8)
            with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t"):
                x[0] = value


def test_augmented_assignment() -> None:
    for lib in (rl, torch):
        x = both(lib, grad=True)
        y = x * 1
        y[0] += 1
        y[:, 1] *= x[:, 0]
        y[y > 10] -= 2
        y[[0, 0]] *= 2
        (y * y).sum().backward()
        if lib is rl:
            ours = (y, x.grad)
    same(ours[0], y)
    same(ours[1], x.grad)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(accumulate: bool) -> None:
    for lib in (rl, torch):
        x, v = both(lib, (3, 4), grad=True), both(lib, (2, 4), grad=True)
        y = x * 1
        at = lib.tensor([0, 0] if accumulate else [0, 2])
        y.index_put_((at,), v * v, accumulate=accumulate)
        (y * y).sum().backward()
        if lib is rl:
            ours = (y, x.grad, v.grad)
    for a, b in zip(ours, (y, x.grad, v.grad)):
        same(a, b)


# -- any index at all ---------------------------------------------------------------------------


@st.composite
def indices(draw: Any) -> tuple[tuple[int, ...], Any]:
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    common = draw(st.integers(1, 3))
    items: list[Any] = []
    dim = 0
    while dim < len(shape):
        kind = draw(st.sampled_from(["int", "slice", "none", "tensor", "mask", "bool", "stop", "int0"]))
        n = shape[dim]
        if kind == "stop":
            items.append(...)
            break
        if kind == "none":
            items.append(None)
            if len(items) > 6:
                break
            continue
        if kind == "bool":
            items.append(draw(st.booleans()))
            if len(items) > 6:
                break
            continue
        if kind in ("int", "int0", "tensor") and n == 0:
            kind = "slice"
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "int0":
            items.append(("t", draw(st.integers(-n, n - 1))))
        elif kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            items.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "tensor":
            size = draw(st.sampled_from([1, common]))
            items.append(("t", draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size))))
        else:
            marks = [i < common for i in range(n)] if n >= common else [False] * n
            items.append(("t", draw(st.permutations(marks)) if n else slice(None)))
            if not n:
                items[-1] = slice(None)
        dim += 1
    return shape, tuple(items)


def outcome(lib: Any, shape: tuple, index: Any, act: Any) -> Any:
    try:
        return act(lib, shape, index)
    except (IndexError, RuntimeError, ValueError) as error:
        return type(error)


def read(lib: Any, shape: tuple, index: Any) -> Any:
    x = both(lib, shape, grad=True)
    part = x[translate(lib, index)]
    (part * part).sum().backward()
    return [part, x.grad]


def assign(lib: Any, shape: tuple, index: Any) -> Any:
    x, z = both(lib, shape, grad=True), both(lib, (), grad=True)
    y = x * 1
    at = translate(lib, index)
    size = y[at].numel()
    value = (z * (1 + lib.arange(size, dtype=lib.float64))).reshape(y[at].shape)
    repeated = any(isinstance(i, tuple) and isinstance(i[1], list) for i in index)
    y[at] = z * 3 if repeated else value  # which of several writes to one place wins is undefined
    (y * y).sum().backward()
    return [y, x.grad, z.grad]


def compare(shape: tuple, index: Any, act: Any) -> None:
    ours, theirs = (outcome(lib, shape, index, act) for lib in (rl, torch))
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours is theirs, (shape, index, ours, theirs)
        return
    for a, b in zip(ours, theirs):
        assert (a is None) == (b is None), (shape, index)
        if a is not None:
            same(a, b)


@settings(max_examples=300, deadline=None)
@given(indices())
def test_any_reading(case: Any) -> None:
    compare(*case, read)


@settings(max_examples=300, deadline=None)
@given(indices())
def test_any_assignment(case: Any) -> None:
    compare(*case, assign)


# -- gather, scatter and the named forms --------------------------------------------------------

WRONG: list[tuple[str, str]] = [
    ("x.gather(0, i([0, 1]))", "Index tensor must have the same number of dimensions as input"),
    ("x.gather(0, i([[5]]))", "index 5 is out of bounds for dimension 0 with size 3"),
    ("x.gather(0, i([[-1]]))", "index -1 is out of bounds for dimension 0 with size 3"),
    ("x.gather(0, i([[0.0]]))", "gather(): Expected dtype int32/int64 for index"),
    ("x.gather(0, i([[0, 1, 2, 0, 0]]))", "Size does not match at dimension 1 expected index"),
    ("x.scatter(0, i([[7]]), 2)", "index 7 is out of bounds for dimension 0 with size 3"),
    ("x.scatter(0, i([[0, 1]]), x.double())", "scatter(): Expected self.dtype to be equal to src"),
    ("x.scatter(0, i([[0]]), 2, reduce='x')", "reduce argument must be either add or multiply."),
    ("x.scatter_reduce(0, i([[0]]), x, 'q')", "reduce argument must be either sum, prod, mean"),
    ("x.scatter_add(0, i([[4]]), x)", "index 4 is out of bounds for dimension 0 with size 3"),
    ("x.index_select(0, i([[0]]))", "index_select(): Index is supposed to be a vector"),
    ("x.index_select(0, i([5]))", "index out of range in self"),
    ("x.index_add(0, i([0, 0]), x)", "index_add_(): Number of indices (2) should be equal to"),
    ("x.index_add(0, i([4]), x[:1])", "index 4 is out of bounds for dimension 0 with size 3"),
    ("x.index_put((i([0, 1]),), x[:, :2], accumulate=True)", "shape mismatch: value tensor of shape [3, 2]"),
    ("x.index_copy(0, i([0, 1]), x)", "index_copy_(): Number of indices (2) should be equal to"),
    ("x.index_fill(0, i([7]), 1)", "index 7 is out of bounds for dimension 0 with size 3"),
    ("x.take(i([12]))", "out of range: tried to access index 12 on a tensor of 12 elements."),
    ("x.masked_select(i([1, 0, 0, 0]))", "masked_select: expected BoolTensor for mask"),
    ("x.masked_scatter(x > 5, x[:1])", "Number of elements of source < number of ones in mask"),
    ("lib.unravel_index(i([1]), (2, 2.0))", "expected 'shape' sequence to only contain ints"),
    ("lib.nonzero(x, out=x.clone())", "nonzero: Expected out tensor to have scalar type Long"),
    ("F.embedding_bag(i([[0, 3]]), x, padding_idx=0)", "embedding_bag: Expected idx >= 0 && idx < num"),
    ("F.embedding_bag(i([[-1]]), x, mode='max')", "embedding_bag: Expected idx >= 0 && idx < num"),
    ("F.interpolate(i([[[1, 2]]]), 4)", '"compute_indices_weights_nearest" not implemented for'),
    ("F.one_hot(i([-1]))", "Class values must be non-negative."),
    ("F.one_hot(i([3]), 2)", "Class values must be smaller than num_classes."),
    ("lib.cat([])", "torch.cat(): expected a non-empty list of Tensors"),
    ("lib.cat([x, x[0]])", "Tensors must have same number of dimensions: got 2 and 1"),
    ("lib.cat([x, x[:, :2]])", "Sizes of tensors must match except in dimension 0. Expected size 4"),
    ("lib.stack([x, x[0]])", "stack expects each tensor to be equal size, but got [3, 4] at entry"),
    ("x.split([1, 1])", "split_with_sizes expects split_sizes to sum exactly to 3"),
    ("x.chunk(0)", "chunk expects `chunks` to be greater than 0, got: 0"),
    ("x.repeat(2)", "Number of dimensions of repeat dims can not be smaller than number of"),
    ("x.flip(0, 0)", "dim 0 appears multiple times in the list of dims"),
    ("x.narrow(0, 1, 3)", "start (1) + length (3) exceeds dimension size (3)."),
    ("x.select(0, 5)", "select(): index 5 out of range for tensor of size [3, 4] at dimension 0"),
    ("x.diagonal(0, 0, 0)", "diagonal dimensions cannot be identical 0, 0"),
    ("x[0].tril()", "tril: input tensor must have at least 2 dimensions"),
    ("x.as_strided((3,), (100,))", "setStorage: sizes [3], strides [100], storage offset 0"),
    ("x.unfold(0, 5, 1)", "maximum size for tensor at dimension 0 is 3 but size is 5"),
]


@pytest.mark.parametrize("code,words", WRONG, ids=[c for c, _ in WRONG])
def test_named_errors_are_pytorchs(code: str, words: str) -> None:
    kinds = []
    for lib in (rl, torch):
        names = {"lib": lib, "i": lib.tensor, "F": lib.nn.functional}
        names["x"] = lib.arange(12.0).reshape(3, 4)
        with pytest.raises((IndexError, RuntimeError, ValueError, TypeError)) as caught:
            eval(code, names)
        kinds.append(caught.type)
        assert str(caught.value).startswith(words)
    assert kinds[0] is kinds[1]


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["prod", "mean", "amax", "amin"])
def test_index_reduce(reduce: str, include_self: bool) -> None:
    for lib in (rl, torch):
        x, s = both(lib, (3, 2), grad=True), both(lib, (3, 2), grad=True)
        out = x.index_reduce(0, lib.tensor([0, 2, 0]), s * 2.5, reduce, include_self=include_self)
        (out * out).sum().backward()
        if lib is rl:
            ours = (out, x.grad, s.grad)
    for a, b in zip(ours, (out, x.grad, s.grad)):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy())


def test_scatter_prod_with_zeros() -> None:
    for lib in (rl, torch):
        x = lib.tensor([2.0, 3.0], dtype=lib.float64).requires_grad_()
        s = lib.tensor([0.0, 4.0, 0.0, 0.0, 5.0], dtype=lib.float64).requires_grad_()
        out = x.scatter_reduce(0, lib.tensor([0, 0, 1, 1, 1]), s, "prod")
        out.sum().backward()
        if lib is rl:
            ours = (out, x.grad, s.grad)
    for a, b in zip(ours, (out, x.grad, s.grad)):
        same(a, b)


def test_a_source_larger_than_its_index_has_a_gradient() -> None:
    x, s = both(rl, (2, 3), grad=True), both(rl, (3, 4), grad=True)
    at = rl.tensor([[0, 1], [1, 0]])
    x.scatter(0, at, s).sum().backward()
    assert s.grad.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]]
    s.grad = None
    x.scatter_reduce(0, at, s, "prod").sum().backward()
    assert s.grad[2].tolist() == [0, 0, 0, 0]


def test_repeated_rows_add_up() -> None:
    """What an embedding's backward does: many positions, few rows."""
    rng = np.random.RandomState(0)
    at = rng.randint(0, 50, (40, 7))
    for lib in (rl, torch):
        w = lib.zeros(50, 8, dtype=lib.float64).requires_grad_()
        out = w[lib.tensor(at.tolist())]
        weight = lib.arange(8, dtype=lib.float64)
        (out * weight).sum().backward()
        if lib is rl:
            ours = w.grad
    np.testing.assert_allclose(ours.numpy(), w.grad.numpy())


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "int64"])
def test_accumulating_in_every_dtype(name: str) -> None:
    for lib in (rl, torch):
        x = lib.ones(3, 2).to(getattr(lib, name))
        x.index_put_((lib.tensor([0, 0, 2]),), x.clone(), accumulate=True)
        if lib is rl:
            ours = x
    assert ours.tolist() == x.tolist()
