"""Reductions, scans, order and statistics: what the op table's rows cannot say."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.base.config import settings
from rushlight.core.tensor import wrap

torch: Any = pytest.importorskip("torch")


# -- errors ---------------------------------------------------------------------------------------


def test_too_few_degrees_of_freedom_warn() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert bool(rl.tensor([1.0]).var().isnan())


# -- named results --------------------------------------------------------------------------------


def test_named_results_print_as_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "module", "torch")
    a = [[1.0, 5.0, 2.0], [4.0, 0.0, 3.0]]
    for call in (
        lambda t: t.tensor(a).max(1),
        lambda t: t.tensor(a).min(0, keepdim=True),
        lambda t: t.tensor(a).sort(),
        lambda t: t.tensor(a).topk(2),
        lambda t: t.aminmax(t.tensor(a)),
        lambda t: t.tensor(a).kthvalue(1),
        lambda t: t.tensor(a).median(1),
        lambda t: t.tensor(a).mode(1),
        lambda t: t.tensor(a).cummax(1),
        lambda t: t.histogram(t.tensor(a), 2),
    ):
        assert repr(call(rl)) == repr(call(torch))


def test_named_results_carry_the_module_name() -> None:
    assert repr(rl.ones(1).max(0)).startswith("rushlight.return_types.max(\nvalues=tensor(")


def test_named_results_are_tuples() -> None:
    pair = rl.tensor([3.0, 1.0]).sort()
    values, indices = pair
    assert values is pair.values is pair[0]
    assert indices is pair.indices
    assert type(pair)([values, indices]) == pair
    back = pickle.loads(pickle.dumps(rl.return_types.max((1, 2))))
    assert back == (1, 2)
    assert back.indices == 2


def test_named_results_fill_out() -> None:
    room = rl.empty(2), rl.empty(2, dtype=rl.int64)
    pair = rl.max(rl.tensor([[1.0, 2.0], [4.0, 3.0]]), 1, out=room)
    assert pair.values is room[0]
    assert room[1].tolist() == [1, 0]


# -- gradients ------------------------------------------------------------------------------------


def test_gradient_of_a_sum_is_a_view() -> None:
    x = rl.ones(3, 4, requires_grad=True)
    (g,) = rl.autograd.grad(x.sum(), x)
    assert g._a.strides == (0, 0)
    (g,) = rl.autograd.grad(x.sum(0), x, rl.arange(4.0))
    assert g._a.strides[0] == 0
    assert g.tolist() == [[0.0, 1.0, 2.0, 3.0]] * 3


def test_out_of_an_other_dtype() -> None:
    room = rl.zeros(3, dtype=rl.int32)
    rl.sum(rl.ones(2, 3), 0, out=room)
    assert room.tolist() == [2, 2, 2]


def test_mode_sends_its_gradient_to_one_of_the_equal() -> None:
    x = rl.tensor([1.0, 2.0, 2.0, 3.0], requires_grad=True)
    x.mode().values.backward()
    assert x.grad.tolist() == [0.0, 0.0, 1.0, 0.0]


def test_prod_of_many_zeros_has_a_second_derivative() -> None:
    a = [2.0, 0.0, 3.0, 0.0]

    def hessian(t: Any) -> np.ndarray:
        x = t.tensor(a, dtype=t.float64, requires_grad=True)
        (g,) = t.autograd.grad(x.prod(), x, create_graph=True)
        rows = [t.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(4)]
        return np.array([r.tolist() for r in rows])

    np.testing.assert_allclose(hessian(rl), hessian(torch))
    assert hessian(rl)[1, 3] == 6.0


def test_logcumsumexp_gradient_of_a_wide_range() -> None:
    a = np.array([-800.0, 700.0, 0.0, 900.0, -5.0])
    x = wrap(a.copy()).requires_grad_()
    y = torch.tensor(a, requires_grad=True)
    weights = np.array([1.0, -2.0, 3.0, 0.5, -1.0])
    (x.logcumsumexp(0) * wrap(weights)).sum().backward()
    (y.logcumsumexp(0) * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-9, atol=1e-12)


# -- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [None, 0, 1])
def test_float32_sums_are_accurate(dim: int | None) -> None:
    a = np.random.RandomState(0).rand(2000, 300).astype(np.float32)
    a = a if dim != 1 else np.ascontiguousarray(a.T)
    got = wrap(a).sum(dim).numpy()
    want = a.astype(np.float64).sum(axis=dim)
    assert np.max(np.abs(got - want) / want) < 3e-7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_accumulates_in_float32(dtype: str) -> None:
    x = rl.ones(4096, dtype=getattr(rl, dtype))
    assert x.sum().item() == 4096.0
    assert (x * 100).mean().item() == 100.0  # the sum itself does not fit into float16
    assert x.cumsum(0)[-1].item() == 4096.0


def test_float32_cumsum_is_accurate() -> None:
    a = np.random.RandomState(0).rand(100_000).astype(np.float32)
    want = np.cumsum(a, dtype=np.float64)
    assert np.max(np.abs(wrap(a).cumsum(0).numpy() - want) / want) < 1e-7


def test_overflow_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        big = rl.full((4,), 3e38)
        assert big.sum().item() == float("inf")
        assert bool(big.var().isinf())
        assert bool(rl.zeros(0).mean().isnan())


# -- memory ---------------------------------------------------------------------------------------


def _rows() -> list[Any]:
    from rows import reduce, scan, sorting, statistics

    return [*reduce.ROWS, *scan.ROWS, *sorting.ROWS, *statistics.ROWS]


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_results_are_dense_and_share_nothing_with_their_inputs() -> None:
    from optable import call, flat

    for row in _rows():
        if row.name in ("Tensor.sum_to_size", "histogram", "quantile", "nanquantile", "unique_consecutive"):
            continue  # the input itself where nothing is to do; given edges; views of results, as PyTorch's
        ins = [wrap(np.array(a)) for a in row.arrays()]
        for out in flat(call(rl, row, ins)):
            assert out.is_contiguous(), row
            assert not any(np.shares_memory(out._a, t._a) for t in ins), row
