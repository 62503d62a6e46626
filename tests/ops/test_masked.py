"""`torch.masked`: masked tensors, and arguments of reductions that PyTorch's database lacks (tools/parity.py walks over the others)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight

torch = pytest.importorskip("torch")
LIBS = (torch, rushlight)
DATA = np.random.default_rng(3).normal(size=(3, 4, 2))
MASK = np.random.default_rng(4).random((3, 4, 2)) < 0.6
MASK[1] = False


def same(call: Any, dtype: str = "float64", mask: Any = MASK, grad: bool = True) -> None:
    """The same numbers, dtypes and gradients from both, or the same error."""
    found = []
    for lib in LIBS:
        x = lib.tensor(DATA * 5).to(getattr(lib, dtype))
        x.requires_grad_(grad and dtype.startswith("float"))
        m = None if mask is None else lib.tensor(mask)
        try:
            y = call(lib, x, m)
        except (ValueError, IndexError, NotImplementedError, RuntimeError, AssertionError) as e:
            found.append((type(e), str(e).replace("rushlight.", "torch.")))
            continue
        g = None
        if y.requires_grad:
            y.nan_to_num(0.0, 0.0, 0.0).square().sum().backward()
            g = x.grad.numpy()
        found.append((str(y.dtype).split(".")[1], y.detach().numpy(), g))
    theirs, ours = found
    assert theirs[0] == ours[0] and len(theirs) == len(ours)
    if len(theirs) == 2:
        assert theirs == ours
        return
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6, atol=1e-6)
    if theirs[2] is not None:
        np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-5, atol=1e-5)


def test_more_arguments() -> None:
    same(lambda lib, x, m: lib.masked.var(x, 1, unbiased=False, mask=m))
    same(lambda lib, x, m: lib.masked.std(x, 1, correction=2, mask=m))
    same(lambda lib, x, m: lib.masked.sum(x, 1, dtype=lib.float64, mask=m), "float32")
    same(lambda lib, x, m: lib.masked.logaddexp(x, x * 2, input_mask=m, other_mask=~m))
    same(lambda lib, x, m: lib.masked.mean(x, mask=m), "int64")  # an error
    same(lambda lib, x, m: lib.masked.sum(x, (0, 0), mask=m))  # an error
    same(lambda lib, x, m: lib.masked.sum(x, 5, mask=m))  # an error
    same(lambda lib, x, m: lib.masked.sum(x[0], mask=m))  # an error
    same(lambda lib, x, m: lib.masked._output_mask(lib.masked.sum, x, 1, mask=m), grad=False)


def masked(lib: Any, grad: bool = False) -> Any:
    d = lib.arange(6.0).reshape(2, 3) + 1
    m = lib.tensor([[True, False, True], [False, False, False]])
    return lib.masked.masked_tensor(d, m, requires_grad=grad)


@pytest.fixture
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


CALLS = {
    "itself": lambda lib, x: x,
    "add": lambda lib, x: x + 1,
    "multiply": lambda lib, x: x * x,
    "divide": lambda lib, x: 1 / x,
    "negative": lambda lib, x: -x,
    "exp": lambda lib, x: lib.exp(x),
    "clamp": lambda lib, x: x.clamp(2, 3),
    "less": lambda lib, x: x < 3,
    "greater": lambda lib, x: x > 2,
    "sum": lambda lib, x: x.sum(),
    "mean": lambda lib, x: lib.mean(x, 1),
    "amax": lambda lib, x: x.amax(1, keepdim=True),
    "argmax": lambda lib, x: x.argmax(1),
    "prod": lambda lib, x: x.prod(),
    "var": lambda lib, x: x.var(1),
    "all": lambda lib, x: x.all(),
    "transposed": lambda lib, x: x.t(),
    "index": lambda lib, x: x[0],
    "view": lambda lib, x: x.view(3, 2),
    "cat": lambda lib, x: lib.cat([x, x]),
    "stack": lambda lib, x: lib.stack([x, x]),
    "unsqueeze": lambda lib, x: x.unsqueeze(0),
    "split": lambda lib, x: x.split(1)[1],
    "softmax": lambda lib, x: x.softmax(1),
    "double": lambda lib, x: x.to(lib.float64),
    "where": lambda lib, x: lib.where(x.get_mask(), x, lib.zeros(2, 3)),
    "add_": lambda lib, x: x.add_(1),
    "exp_": lambda lib, x: x.clone().exp_(),
    "to_tensor": lambda lib, x: x.to_tensor(7),
    "item": lambda lib, x: x.sum().item(),
}


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("name", CALLS)
def test_masked_tensors(name: str) -> None:
    theirs, ours = (str(CALLS[name](lib, masked(lib))) for lib in LIBS)
    assert ours.replace("rushlight.", "torch.") == theirs


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("name", ["itself", "multiply", "exp", "amax", "prod", "mean", "softmax", "to_tensor"])
def test_gradients_of_masked_tensors(name: str) -> None:
    said = []
    for lib in LIBS:
        x = masked(lib, grad=True)
        y = CALLS[name](lib, x)
        (y * y).sum().backward()
        said.append(str(x.grad))
    assert said[0] == said[1]


@pytest.mark.usefixtures("_quiet")
def test_gradients_flow_into_the_data() -> None:
    said = []
    for lib in LIBS:
        d = lib.ones(2, 3, requires_grad=True)
        m = lib.tensor([[True, False, True], [False, False, True]])
        (lib.masked.as_masked_tensor(d, m) * 2).sum().backward()
        said.append(str(d.grad))
    assert said[0] == said[1]


@pytest.mark.usefixtures("_quiet")
def test_what_masked_tensors_refuse() -> None:
    wrong = [
        lambda lib: lib.masked.masked_tensor([1.0], lib.tensor([True])),
        lambda lib: lib.masked.masked_tensor(lib.ones(2), [True, False]),
        lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.ones(2)),
        lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.tensor([True])),
        lambda lib: lib.masked.masked_tensor(lib.ones(2, 1), lib.tensor([True, True])),
        lambda lib: lib.masked.masked_tensor(lib.ones(1, dtype=lib.uint8), lib.tensor([True])),
        lambda lib: masked(lib) + lib.masked.masked_tensor(lib.ones(2, 3), ~masked(lib).get_mask()),
    ]
    for call in wrong:
        said = []
        for lib in LIBS:
            with pytest.raises((TypeError, ValueError)) as caught:
                call(lib)
            said.append((caught.type, str(caught.value).replace("rushlight.", "torch.")))
        assert said[0] == said[1]
    with pytest.raises(TypeError, match="Multiple dispatch failed"):
        masked(rushlight).relu()


def test_a_warning_says_that_it_is_new() -> None:
    for lib in LIBS:
        with pytest.warns(UserWarning, match="prototype stage"):
            masked(lib)


def _in_layout(lib: Any, layout: str, value: Any, dims: int = 2) -> Any:
    t = lib.tensor(value)
    return t.to_sparse_csr() if layout == "csr" else t.to_sparse(dims) if layout == "coo" else t


SPARSE = [[1.0, 0, 0, -2], [0, 3, 4, 0], [0, 0, 0, 0], [5, 0, 0, 6]]
KEPT = [
    [True, True, False, True],
    [False, True, False, False],
    [True, False, False, False],
    [False, False, False, True],
]


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin", "mean", "argmax", "norm", "softmax", "var"])
@pytest.mark.parametrize(
    ("layout", "of_mask"), [("coo", "coo"), ("coo", "dense"), ("csr", "csr"), ("csr", "coo"), ("dense", "csr")]
)
def test_reductions_of_sparse_tensors(name: str, layout: str, of_mask: str) -> None:
    for dim in (0, 1) if name in ("argmax", "softmax") else (0, 1, None):
        for keep in (True, False) if name != "softmax" else (None,):
            for masked in (True, False):
                said = []
                for lib in LIBS:
                    args = (2.0, dim) if name == "norm" else (dim,)
                    more = {} if keep is None else {"keepdim": keep}
                    mask = _in_layout(lib, of_mask, KEPT) if masked else None
                    try:
                        y = getattr(lib.masked, name)(_in_layout(lib, layout, SPARSE), *args, mask=mask, **more)
                    except (ValueError, RuntimeError, AssertionError) as e:
                        said.append((type(e), str(e).replace("rushlight.", "torch.")))
                        continue
                    count = y._nnz() if y.layout is not lib.strided else None
                    said.append((str(y.layout).split(".")[1], count, y.to_dense().numpy()))
                if said[0][0] is ValueError and name == "amin":  # PyTorch's text names amax
                    said = [(kind, text.replace("amin", "amax")) for kind, text in said]
                assert said[1][:2] == said[0][:2], (dim, keep, masked)
                for ours, theirs in zip(said[1][2:], said[0][2:]):
                    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.usefixtures("_quiet")
def test_masks_of_hybrid_tensors() -> None:
    said = []
    for lib in LIBS:
        x, mask = (_in_layout(lib, "coo", value, 1) for value in (SPARSE, KEPT))
        y = lib.masked._where(mask, x, lib.tensor(9.0))
        total = lib.masked.sum(x, (0,), mask=mask), lib.masked.sum(x, 1, mask=mask)
        said.append((y.to_dense().tolist(), y._indices().tolist(), [t.to_dense().tolist() for t in total]))
    assert said[0] == said[1]
