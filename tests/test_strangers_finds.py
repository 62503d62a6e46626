"""What scripts of all kinds printed or raised otherwise than in PyTorch (notes of session 13)."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

import rushlight as rl
from rushlight.base.config import settings

torch = pytest.importorskip("torch")


def told(call):
    """A result's text, or the error."""
    try:
        result = str(call())
    except Exception as e:
        result = f"{type(e).__name__}: {e}"
    return result.replace("rushlight.", "torch.")


def same(story):
    ours, theirs = story(rl), story(torch)
    assert ours == theirs


@pytest.mark.parametrize("spec", ["", ".2f", "d", ">10"])
def test_only_plain_tensors_are_formatted_as_numbers(spec):
    def story(lib):
        own = type("Own", (lib.Tensor,), {})
        number = lib.tensor(0.25)
        made = [
            lib.nn.Parameter(number),
            number.as_subclass(own),
            number,
            lib.nn.Parameter(number) * 2,
        ]
        return [told(lambda x=x: format(x, spec)) for x in made]

    same(story)


@pytest.mark.parametrize("key", ["a", b"a", ("a",), ["a"], {1}, 1j, 1.5])
def test_texts_are_no_indices(key):
    def story(lib):
        x = lib.zeros(3)
        found = [told(lambda: x[key]), told(lambda: x.__setitem__(key, 1))]
        return [text.partition(":")[0] for text in found]

    with pytest.warns(UserWarning) if key == ["a"] else nullcontext():  # PyTorch warns of lists
        same(story)


@pytest.mark.parametrize("reduce", ["max", "min", "amax", "amin", "add"])
def test_scatter_reduce_takes_short_names(reduce):
    def story(lib):
        x, at, src = lib.tensor([1.0, 5.0, 2.0]), lib.tensor([1, 1]), lib.tensor([3.0, 9.0])
        return [
            told(lambda: lib.scatter_reduce(x, 0, at, src, reduce)),
            told(lambda: x.clone().scatter_reduce_(0, at, src, reduce, include_self=False)),
        ]

    same(story)


@pytest.mark.parametrize("name", ["RNNCell", "GRUCell", "LSTMCell"])
def test_cells_refuse_states_that_do_not_fit(name):
    """A cell state of another batch went through silently."""

    def story(lib):
        cell = getattr(lib.nn, name)(4, 3)
        x, h = lib.zeros(2, 4), lib.zeros(2, 3)
        wide, long = lib.zeros(2, 5), lib.zeros(3, 3)
        pair = (lambda a: (h, a)) if name == "LSTMCell" else (lambda a: a)
        both = (lambda a: (a, a)) if name == "LSTMCell" else (lambda a: a)
        calls = [
            lambda: cell(lib.zeros(2, 5)),
            lambda: cell(lib.zeros(5)),
            *[lambda s=s: cell(x, s) for s in (pair(wide), pair(long), both(wide), both(long))],
            lambda: cell(x, both(h[0])),
        ]
        return [told(call) for call in calls]

    same(story)


def sparse_tensors(lib):
    places = lib.stack([lib.arange(30) // 3, lib.arange(30) % 7])
    numbers = lib.arange(30) * 1.25 - 11
    coo = lib.sparse_coo_tensor(places, numbers, (12, 12))
    yield coo
    yield coo.coalesce().double()
    yield coo.coalesce().requires_grad_()
    yield lib.sparse_coo_tensor(places, numbers[:, None] * lib.ones(30, 14), (12, 12, 14))
    yield lib.sparse_coo_tensor(places, lib.ones(30, dtype=lib.float16), (12, 12))
    yield lib.sparse_coo_tensor(places[:, :3], lib.tensor([True, False, True]), (12, 12))
    yield lib.sparse_coo_tensor((3, 3))
    dense = coo.to_dense()
    yield dense.to_sparse_csr()
    yield dense.to_sparse_csc()
    yield dense.int().to_sparse_csr()
    yield (lib.arange(2500) + 1.0).view(50, 50).to_sparse()


@pytest.mark.filterwarnings("ignore:Sparse")
def test_sparse_tensors_are_printed_as_pytorchs(monkeypatch):
    monkeypatch.setattr(settings, "module", "torch")  # lines break where the text ends
    for ours, theirs in zip(sparse_tensors(rl), sparse_tensors(torch), strict=True):
        assert str(ours) == str(theirs)
