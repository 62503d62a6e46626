"""NaN, infinities, denormal numbers and signed zeros through every reduction, beside PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

inf, nan, tiny = float("inf"), float("nan"), 1e-42
ROWS = {
    "nan": [1.0, nan, 3.0, -2.0], "nan first": [nan, 1.0, 2.0, 3.0], "only nan": [nan] * 4, "inf": [1.0, inf, 2.0, -3.0],
    "both": [inf, -inf, 1.0, 2.0], "minus": [-inf] * 4, "nan and inf": [nan, inf, -inf, 0.0], "denormal": [tiny, 2 * tiny, -tiny, 3 * tiny],
    "zeros": [0.0, -0.0, 0.0, -0.0], "only inf": [inf] * 4,
}  # fmt: skip
CALLS = (
    "x.sum(D)", "x.mean(D)", "x.prod(D)", "x.max(D)", "x.min(D)", "x.amax(D)", "x.amin(D)", "x.aminmax(dim=D)", "x.argmax(D)", "x.argmin(D)",
    "x.nansum(D)", "x.nanmean(D)", "x.median(D)", "x.nanmedian(D)", "x.mode(D)", "x.std(D)", "x.var(D)", "x.std(D,unbiased=False)",
    "torch.std_mean(x,D)", "torch.var_mean(x,D)", "x.norm(dim=D)", "x.norm(1,dim=D)", "x.norm(inf,dim=D)", "x.norm(0,dim=D)", "x.norm(3,dim=D)",
    "torch.linalg.vector_norm(x,dim=D)", "torch.linalg.vector_norm(x,-inf,dim=D)", "x.logsumexp(D)", "x.softmax(D)", "x.log_softmax(D)",
    "x.cumsum(D)", "x.cumprod(D)", "x.cummax(D)", "x.cummin(D)", "x.logcumsumexp(D)", "x.all(D)", "x.any(D)", "x.count_nonzero(D)", "x.sort(D)",
    "x.argsort(D)", "x.topk(2,D)", "x.kthvalue(2,D)", "x.quantile(0.3,dim=D)", "x.nanquantile(0.3,dim=D)", "x.sum()", "x.mean()", "x.prod()",
    "x.max()", "x.min()", "x.argmax()", "x.argmin()", "x.std()", "x.var()", "x.norm()", "x.median()", "x.nanmedian()", "x.nansum()", "x.nanmean()",
    "x.all()", "x.any()", "x.quantile(0.5)", "x.aminmax()", "torch.unique(x)", "torch.histc(x.nan_to_num(),4,-1,1)", "F.layer_norm(x,(x.shape[-1],))",
    "F.normalize(x,dim=D)", "F.cross_entropy(x,t)", "F.nll_loss(x,t)", "F.mse_loss(x,x.flip(0))", "F.l1_loss(x,x.flip(0))",
    "F.smooth_l1_loss(x,x.flip(0))", "F.kl_div(x,x.flip(0))", "F.max_pool1d(x[None],2)", "F.avg_pool1d(x[None],2)",
    "F.adaptive_max_pool1d(x[None],2)", "F.adaptive_avg_pool1d(x[None],3)", "F.lp_pool1d(x[None],2,2)", "torch.dist(x,x.flip(0))",
    "torch.cdist(x,x.flip(0))", "x@x.t()", "torch.trace(x)", "x.diff(dim=D)", "torch.trapezoid(x,dim=D)", "torch.cov(x)", "torch.corrcoef(x)",
    "F.cosine_similarity(x,x.flip(0),dim=D)", "F.batch_norm(x,None,None,training=True)", "F.group_norm(x[None],2)", "F.rms_norm(x,(x.shape[-1],))",
    "F.pairwise_distance(x,x.flip(0))", "x.renorm(2,0,1.)", "torch.zeros(3, dtype=x.dtype).index_add(0,i,x[:,0])",
    "torch.zeros(3, dtype=x.dtype).scatter_reduce(0,i,x[:,0],'amax')", "torch.zeros(3, dtype=x.dtype).scatter_reduce(0,i,x[:,0],'amin')",
    "torch.zeros(3, dtype=x.dtype).scatter_reduce(0,i,x[:,0],'mean')", "torch.zeros(3, dtype=x.dtype).scatter_reduce(0,i,x[:,0],'prod')",
    "torch.bincount(i,x[:,0])", "torch.searchsorted(x[0].sort()[0],x[1])", "torch.linalg.norm(x)", "F.softmin(x,D)", "F.instance_norm(x[None])",
    "F.local_response_norm(x[None],2)", "F.embedding(t, x.clone(), max_norm=1.0)", "x.quantile(0.7, dim=D, interpolation='midpoint')",
)  # fmt: skip
# Which of equal elements is named, PyTorch leaves to the machine's sorting.
PLACES = ("topk", "kthvalue", "sort", "nanmedian", "mode")
# PyTorch's one pass makes the mean nan where the variance is.
FIRST = ("std_mean", "var_mean")


def answers(lib: Any, call: str, rows: list[list[float]], dtype: str, dim: int) -> Any:
    names = {"torch": lib, "F": lib.nn.functional, "D": dim, "inf": inf}
    names |= {"x": lib.tensor(rows, dtype=getattr(lib, dtype)), "t": lib.tensor([0, 1, 2]), "i": lib.tensor([0, 2, 2])}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(call, names)
    except Exception as error:  # noqa: BLE001 - the kind is compared
        return type(error).__name__
    found = list(found) if isinstance(found, tuple) else [found]
    if any(word in call for word in (*PLACES, *FIRST)):
        found = [] if "argsort" in call else found[:1]
    return [(str(v.dtype).rpartition(".")[2], v.detach().numpy()) for v in found]


@pytest.mark.parametrize("call", CALLS)
def test_as_pytorch(call: str) -> None:
    kinds = list(ROWS)
    for k, kind in enumerate(kinds):
        if "mode" in call and ("nan" in kind or "nan" in kinds[(k + 3) % len(kinds)]):
            continue  # the order of nan in PyTorch's sorting
        for dtype, near in (("float32", 1e-5), ("float64", 1e-12)):
            for width in (4, 37):
                middle = [0.25 * ((m * 7) % 5) for m in range(width - 4)]
                chosen = [[1.0, 2.0, -1.0, 0.5], ROWS[kind], ROWS[kinds[(k + 3) % len(kinds)]]]
                rows = [r[:2] + middle + r[2:] for r in chosen]
                for dim in (0, 1) if "D" in call else (0,):
                    want = answers(torch, call, rows, dtype, dim)
                    got = answers(rl, call, rows, dtype, dim)
                    where = (kind, dtype, width, dim)
                    if isinstance(want, str):
                        assert got == want, where
                        continue
                    for (name, a), (other, b) in zip(want, got, strict=True):
                        assert name == other and a.shape == b.shape, where
                        np.testing.assert_allclose(b, a, near, near, err_msg=str(where))


SMALL = [[1e-23, 2e-23, 5e-23], [1e-30, -1e-30, 0.0], [3e-23, 3e-23, 3e-23], [0.0, 0.0, 1e-41], [1e20, -1e20, 3.0]]


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_spread_of_numbers_whose_squares_float_does_not_hold(name: str, dim: int | None) -> None:
    for rows in (SMALL, SMALL[:4] * 40, [[0.0, 2.0, 2.0]] * 2):
        found = [getattr(lib, name)(lib.tensor(rows), dim=dim) for lib in (torch, rl)]
        pair = [v if isinstance(v, tuple) else (v,) for v in found]
        for theirs, ours in zip(*pair):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-45 if "var" in name else 0)


@pytest.mark.parametrize("indices", [[0, 1], [1, 0], [0, 1, 2], [2, 1], [1, 1]])
def test_the_largest_of_a_bag_passes_over_nan_behind_its_first_row(indices: list[int]) -> None:
    found = []
    for lib in (torch, rl):
        w = lib.tensor([[0.0, 1.0], [nan, 2.0], [5.0, nan]], requires_grad=True)
        out = lib.nn.functional.embedding_bag(lib.tensor([indices]), w, mode="max")
        out.nansum().backward()
        found.append([out.detach().numpy(), w.grad.numpy()])
    np.testing.assert_array_equal(found[1][0], found[0][0])
    np.testing.assert_array_equal(found[1][1], found[0][1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("size", [1.0, 0.1, 1e-3])
def test_rms_norm_divides_by_float32s_eps_in_half_precision(dtype: str, size: float) -> None:
    found = []
    for lib in (torch, rl):
        x = lib.tensor([[1.0, -2.0, 0.5]], dtype=getattr(lib, dtype)) * size
        found.append([lib.nn.functional.rms_norm(x, (3,)), lib.nn.RMSNorm(3, dtype=x.dtype)(x)])
    for theirs, ours in zip(*found):
        np.testing.assert_allclose(
            ours.detach().double().numpy(), theirs.detach().double().numpy(), rtol=1e-2 if "16" in dtype else 1e-6
        )
