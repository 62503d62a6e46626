"""How results lie in memory, and in which order random numbers fill it: as PyTorch's, for inputs of any layout."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import rushlight
import rushlight.nn.functional
from optable import all_rows, call, flat

torch = pytest.importorskip("torch")

# Results of these may lie otherwise. What PyTorch makes contiguous is nearly always contiguous here, too (`NOT_EVEN`).
OTHERWISE = frozenset("""
    F.adaptive_avg_pool1d F.adaptive_avg_pool2d F.adaptive_avg_pool3d F.adaptive_max_pool2d F.avg_pool1d
    F.binary_cross_entropy_with_logits F.channel_shuffle F.conv1d F.conv_transpose1d F.hinge_embedding_loss
    F.interpolate F.lp_pool1d F.max_pool2d F.max_pool2d_with_indices F.pad F.pixel_shuffle F.rrelu F.soft_margin_loss
    Tensor.H Tensor.__getitem__ Tensor.mH Tensor.put addr adjoint as_strided_scatter channel_shuffle conj conv_tbc
    diagonal_scatter fft.irfftn gru_cell index_add index_copy linalg.lstsq max_pool1d_with_indices narrow_copy
    nonzero_static pixel_unshuffle rot90 rrelu select_scatter slice_scatter unique unravel_index
""".split())  # fmt: skip
NOT_EVEN = frozenset("""
    F.adaptive_avg_pool2d F.adaptive_avg_pool3d F.interpolate F.pad F.rrelu conv_tbc index_add index_copy narrow_copy
    nonzero_static pixel_unshuffle rrelu
""".split())  # fmt: skip


def turned(a):
    return np.ascontiguousarray(a.T).T if a.ndim > 1 else a


def channels_last(a):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) if a.ndim > 2 else a


def stepped(a):
    if not a.ndim:
        return a
    wide = np.zeros((*a.shape[:-1], a.shape[-1] * 2), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def strides(t):
    """Those of dims that have more than one element."""
    return [s for n, s in zip(t.shape, t.stride()) if n > 1] if t.numel() > 1 else []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", [turned, channels_last, stepped], ids=lambda f: f.__name__)
def test_the_whole_op_table(layout):
    wrong, uneven = set(), set()
    for row in all_rows():
        arrays = [layout(np.asarray(a)) for a in row.arrays("float32")]
        if all(a.flags.c_contiguous for a in arrays):
            continue
        results = []
        for lib in (torch, rushlight):
            inputs = [lib.from_numpy(a) if a.ndim else lib.tensor(a) for a in arrays]
            try:
                results.append(flat(call(lib, row, inputs)))
            except Exception:  # strided inputs are not for every function; test_ops.py has those
                break
        if len(results) < 2:
            continue
        for theirs, ours in zip(*results):
            if isinstance(theirs, torch.Tensor) and theirs.layout is torch.strided:
                if strides(ours) != strides(theirs):
                    wrong.add(row.name)
                if theirs.is_contiguous() and not ours.is_contiguous():
                    uneven.add(row.name)
    assert wrong - OTHERWISE == set()
    assert uneven - NOT_EVEN == set()


LAYOUTS = {
    "channels_last": lambda a: a.reshape(2, 4, 5, 3).permute(0, 3, 1, 2),
    "turned": lambda a: a.reshape(5, 4, 3, 2).permute(3, 2, 1, 0),
    "heads": lambda a: a.reshape(2, 4, 3, 5).transpose(1, 2),
    "expanded": lambda a: a[:30].reshape(2, 3, 1, 5).expand(2, 3, 4, 5),
    "expanded and turned": lambda a: a[:40].reshape(5, 4, 1, 2).expand(5, 4, 3, 2).permute(3, 2, 1, 0),
}
USES = {
    "softmax": lambda t, x: x.softmax(1),
    "log_softmax": lambda t, x: x.log_softmax(-1),
    "cumsum": lambda t, x: x.cumsum(1),
    "cat": lambda t, x: t.cat([x, x], 1),
    "cat of two layouts": lambda t, x: t.cat([x, x.contiguous()], 1),
    "stack": lambda t, x: t.stack([x[:, 0], x[:, 1]], 1),
    "sort": lambda t, x: x.sort(1)[0],
    "argsort": lambda t, x: x.argsort(2),
    "einsum": lambda t, x: t.einsum("nchw,nchv->nwv", x, x),
    "heads": lambda t, x: t.einsum("bqhd,bkhd->bhqk", x, x),
    "matmul": lambda t, x: x @ x.transpose(-1, -2),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(6, 5)),
    "sum": lambda t, x: x.sum(1),
    "mean": lambda t, x: x.mean((2, 3)),
    "amax": lambda t, x: x.amax(1, keepdim=True),
    "var": lambda t, x: x.var(2),
    "masked_fill": lambda t, x: x.masked_fill(x > 0, 1.0),
    "gather": lambda t, x: x.gather(1, (x * 0).long()),
    "flip": lambda t, x: x.flip(1),
    "roll": lambda t, x: x.roll(1, 1),
    "tril": lambda t, x: x.tril(),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, (5,)),
    "interpolate": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1)),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, t.zeros(3), t.ones(3)),
    "clone": lambda t, x: x.clone(),
    "to": lambda t, x: x.to(t.float64),
    "exp of whole numbers": lambda t, x: (x * 0).long().exp(),
    "sigmoid": lambda t, x: x.sigmoid(),
    "nan_to_num": lambda t, x: x.nan_to_num(),
    "bessel": lambda t, x: t.special.i0(x),
    "zeros_like": lambda t, x: t.zeros_like(x),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("use", USES)
def test_four_dims(use, layout):
    ours, theirs = [USES[use](lib, LAYOUTS[layout](lib.arange(120.0) / 60 - 1)) for lib in (rushlight, torch)]
    assert strides(ours) == strides(theirs)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


DRAWS = {
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.4),
    "alpha_dropout": lambda t, x: t.nn.functional.alpha_dropout(x, 0.4, True),
    "normal_": lambda t, x: x.clone().normal_(),
    "uniform_": lambda t, x: x.clone().uniform_(),
    "bernoulli_": lambda t, x: x.clone().bernoulli_(0.3),
    "bernoulli_ of a tensor": lambda t, x: x.clone().bernoulli_(x.contiguous().abs()),
    "bernoulli": lambda t, x: t.bernoulli(x.abs()),
    "randn_like": lambda t, x: t.randn_like(x),
    "rand_like": lambda t, x: t.rand_like(x),
    "exponential_": lambda t, x: x.clone().exponential_(),
    "rrelu": lambda t, x: t.nn.functional.rrelu(x, training=True),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x),
    "multinomial": lambda t, x: t.multinomial(x[0, 0].abs() + 0.1, 2),
    "normal": lambda t, x: t.normal(x, 1.0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_fill_memory_in_order(draw, layout):
    results = []
    for lib in (rushlight, torch):
        x = LAYOUTS[layout](lib.arange(120.0) / 60 - 1)
        lib.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append(DRAWS[draw](lib, x))
    ours, theirs = results
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    assert strides(ours) == strides(theirs)


def test_a_complex_number_is_true_by_either_part():
    values = [1j, 1 + 0j, 0j, complex(0, float("nan"))]
    want = torch.tensor(values).bool().tolist()
    assert rushlight.tensor(values).bool().tolist() == want == [True, True, False, True]


@pytest.mark.parametrize("lib", [torch, rushlight], ids=["torch", "rushlight"])
def test_out_may_not_lie_in_what_is_read(lib):
    at = lib.tensor([2, 1, 0])
    for attempt in (
        lambda: lib.gather(at, 0, at[1:], out=at[1:]),
        lambda: lib.take(at, lib.tensor([0, 1]), out=at[1:]),
        lambda: lib.kthvalue(at, 1, out=(at[:1], lib.zeros(1, dtype=lib.int64))),
    ):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            attempt()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        lib.index_select(lib.zeros(3, 6), 1, lib.tensor([0, 1]), out=lib.zeros(1, 6).expand(2, 6))


@pytest.mark.parametrize("lib", [torch, rushlight], ids=["torch", "rushlight"])
def test_an_empty_out_lies_as_the_result(lib):
    a = lib.tensor([[2.0, 1.0], [1.0, 3.0]])
    assert lib.linalg.inv(a, out=lib.empty(0)).stride() == lib.linalg.inv(a).stride() == (1, 2)
