"""Calls that PyTorch refuses: ours refuse them with the same kind of error, whose words begin as PyTorch's do."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")

REFUSED = """
F.conv2d(r(4, 1, 32, 32), r(6, 3, 5, 5)) | F.conv2d(r(4, 3, 2, 2), r(6, 3, 5, 5)) | F.conv2d(r(4, 3), r(6, 3, 5, 5))
F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), r(5)) | F.conv2d(r(4, 4, 8, 8), r(5, 2, 3, 3), groups=2) | F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5).double())
F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), stride=2, padding='same') | F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), stride=0)
F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), padding=-1) | F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), groups=0)
F.conv2d(r(4, 3, 8, 8), r(6, 3, 5, 5), stride=(1, 2, 3)) | F.conv_transpose2d(r(2, 3, 4, 4), r(4, 2, 3, 3))
F.conv_transpose2d(r(2, 4, 4, 4), r(4, 2, 3, 3), output_padding=1) | F.max_pool2d(r(4, 3, 8, 8), 2, padding=2) | F.max_pool2d(r(4, 3, 1, 1), 2)
F.max_pool2d(r(4, 8), 2) | F.max_pool2d(r(4, 3, 8, 8), (2, 2, 2)) | F.avg_pool2d(r(4, 3, 8, 8), 2, divisor_override=0)
F.adaptive_avg_pool2d(r(8), 2) | r(2, 3) @ r(4, 5) | r(2, 3, 4) @ r(5, 6) | torch.mm(r(2, 3, 4), r(4, 5)) | torch.bmm(r(2, 3, 4), r(2, 5, 6))
r(2, 3, 4) @ r(2, 5, 6) | r(2, 3, 4) @ r(3, 4, 6) | torch.mv(r(2, 3), r(4)) | torch.dot(r(2), r(4)) | torch.dot(r(2, 2), r(4))
r(2, 3) @ r(3, 2).double() | r(2, 3, 4) @ r(2, 4, 2).double() | r(()) @ r(5, 6) | F.linear(r(2, 3), r(5, 4), r(5))
F.linear(r(2, 4).double(), r(3, 4), r(3)) | torch.addmm(r(3), r(2, 3), r(3, 4)) | torch.einsum('ij,jk', r(2, 3), r(4, 5))
torch.einsum('ij,jk->il', r(2, 3), r(3, 5)) | torch.einsum('ij', r(2, 3), r(3, 5)) | torch.einsum('ijk', r(2, 3))
torch.tensordot(r(2, 3), r(4, 5), 1) | torch.cross(r(2), r(2)) | torch.zeros(0).max() | torch.zeros(0).min() | torch.zeros(2, 0).max(1)
torch.zeros(0).amax() | torch.zeros(2, 0).amin(1) | torch.aminmax(torch.zeros(0)) | torch.zeros(0).argmax() | torch.zeros(2, 0).argmax(1)
torch.ones(2, dtype=torch.bool).argmax() | torch.zeros(2, 0).median(1) | torch.zeros(2, 0).mode(1) | torch.zeros(2, dtype=torch.complex64).max(0)
torch.zeros(2, 3).sum(2) | torch.zeros(2, 3).sum((0, 0)) | torch.tensor(1.0).sum(1) | torch.arange(3).mean() | torch.arange(3).nanmean()
torch.arange(3).std() | torch.ones(2, dtype=torch.bool).median() | torch.zeros(2, 3).sum_to_size(4) | torch.arange(3).norm()
torch.linalg.vector_norm(torch.zeros(2), dtype=torch.float16) | torch.linalg.vector_norm(torch.zeros(0), float('inf'))
torch.arange(3).logcumsumexp(0) | torch.tensor(1.0).diff() | torch.zeros(3).diff(-1) | torch.trapezoid(torch.tensor(1.0))
torch.gradient(torch.zeros(2, 3), edge_order=2) | torch.gradient(torch.zeros(2, 3), spacing=(1.0,)) | torch.zeros(3).topk(4)
torch.zeros(3).kthvalue(4) | torch.zeros(3).sort(2) | torch.arange(3).histc() | torch.zeros(3).histc(0) | torch.zeros(3).histc(3, 2, 1)
torch.zeros(3).bincount() | torch.zeros(3, 2, dtype=torch.int64).bincount() | torch.tensor([-1]).bincount()
torch.searchsorted(torch.zeros(3), torch.zeros(3), side='up') | torch.searchsorted(torch.zeros(2, 3), torch.zeros(3))
torch.bucketize(torch.zeros(3), torch.zeros(3, 3)) | torch.zeros(3).quantile(1.5) | torch.arange(3).quantile(0.5) | torch.zeros(0).quantile(0.5)
torch.zeros(3).quantile(0.5, interpolation='odd') | torch.zeros(2, 2, 2).cov() | F.cross_entropy(x, torch.tensor([0, 1]))
F.cross_entropy(x, torch.tensor([0, 1, 9])) | F.cross_entropy(x, torch.tensor([0, -1, 3])) | F.cross_entropy(x, torch.tensor([0, 1, 3]), r(3))
F.cross_entropy(x, torch.tensor([0.0, 1.0, 1.0])) | F.cross_entropy(x, torch.tensor([0, 1, 1]).int())
F.nll_loss(r(2, 3, 4), torch.zeros((2, 5)).long()) | F.binary_cross_entropy(x, x) | F.binary_cross_entropy(torch.ones((2, 2)), torch.ones((2, 3)))
F.binary_cross_entropy_with_logits(x, r(3, 5)) | F.mse_loss(x.long(), x.long()) | F.batch_norm(x, None, None)
F.batch_norm(x, torch.ones(3), torch.ones(4)) | F.layer_norm(x, (3,)) | F.layer_norm(x, (4,), r(3)) | F.group_norm(x, 3) | F.group_norm(x, 2, r(3))
F.instance_norm(x) | F.glu(r(3, 5)) | F.elu(torch.ones(2).long()) | F.gelu(torch.ones(2).long()) | F.softmax(torch.ones(2).long(), 0)
F.softmax(x, 2) | F.prelu(x, r(3)) | F.softshrink(x, -1) | F.rrelu(x, 0.5, 0.2) | F.celu(x, 0) | F.dropout(x, 1.5) | F.hardtanh(x, 1, 0)
F.embedding(torch.tensor([9]), x) | F.embedding(torch.tensor([-1]), x) | F.embedding(torch.tensor([1]), x, 9) | F.embedding(torch.tensor([1.0]), x)
F.pdist(r(3)) | F.multi_margin_loss(x, torch.tensor([0, 1, 7])) | F.multi_margin_loss(x, torch.tensor([0, 1, 2]), 3)
F.multilabel_margin_loss(x, torch.tensor([0, 1, 2])) | F.cosine_embedding_loss(x, x[0], torch.ones(3)) | F.triplet_margin_loss(x, x, x[0])
F.triplet_margin_loss(x, x, x, -1.0) | F.gaussian_nll_loss(x, x, -x.abs()) | F.gaussian_nll_loss(x, x, torch.ones(2))
F.smooth_l1_loss(x, x, None, None, 'mean', -1.0) | F.local_response_norm(x, 2) | torch.empty(2).uniform_(torch.nan, 1)
torch.empty(2).uniform_(0, torch.inf) | torch.nn.init.kaiming_uniform_(torch.empty(2, 2), a=torch.nan) | torch.normal(0.0, torch.nan, (2,))
torch.normal(torch.zeros(2), torch.tensor([torch.nan, 1.0])) | torch.empty(2).normal_(0, torch.nan) | torch.empty(2).log_normal_(0, torch.nan)
torch.empty(2).exponential_(torch.nan) | torch.empty(2).cauchy_(0, torch.nan) | torch.randperm(2050, dtype=torch.float16)
torch.randperm(3, dtype=torch.complex64) | torch.Generator().manual_seed(1.5) | torch.Generator().manual_seed(True)
w.repeat_interleave(2, 1, output_size=7) | torch.zeros(3).index_put_((i,), torch.ones(1, 2)) | torch.zeros(3).index_put((i,), torch.ones(1, 1), True)
torch.zeros(3).index_put_((mask,), torch.ones(1, 2)) | w.renorm(2, 2, 1.0) | w.renorm(2, -3, 1.0) | torch.unique(w[:, :0], dim=0)
torch.unique_consecutive(w[:, :0], dim=0) | mask.scatter_reduce(0, i, mask[:2], "mean") | F.pad(mask[None], (1, 1), "replicate")
torch.special.multigammaln(mask, 1) | F.interpolate(torch.ones(1, 1, 2), 3, mode="bilinear", recompute_scale_factor=True)
-torch.tensor([True]) | ~torch.tensor([1.0]) | abs(torch.tensor([True])) | +torch.tensor([True]) | torch.tensor([True]) - torch.tensor([True])
1 - torch.tensor([True]) | torch.tensor([1.0]) & 1 | torch.tensor([1.5]) << 1 | torch.sign(torch.tensor([1j])) | torch.floor(torch.tensor([True]))
torch.ceil(torch.tensor([1j])) | torch.frac(torch.tensor([1])) | torch.erf(torch.tensor([1j])) | torch.deg2rad(torch.tensor([1j]))
torch.signbit(torch.tensor([1j])) | torch.isposinf(torch.tensor([1j])) | torch.imag(torch.tensor([1.0])) | torch.tensor([1.0]).imag
torch.tensor([1.0]) < 1j | torch.tensor([1.0]) < None | torch.tensor([1.0]) + None | torch.maximum(torch.tensor([1.0]), 1)
torch.hypot(torch.tensor([1.0]), 1) | torch.logical_and(torch.tensor([1.0]), 1) | torch.gcd(torch.tensor([1.0]), torch.tensor([1.0]))
torch.isclose(torch.tensor([1.0]), 1.0) | torch.allclose(torch.tensor([1.0]), torch.tensor([1]))
torch.isclose(torch.tensor([1.0]), torch.tensor([1.0]), rtol=-1) | torch.equal(torch.tensor([1.0]), 1)
torch.isin(torch.tensor([True]), torch.tensor([True])) | torch.where(torch.tensor([1, 0]), torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
torch.where(True, torch.tensor([1.0]), torch.tensor([1.0])) | torch.clamp(torch.tensor([1.0]))
torch.tensor([1.0, 2.0]).masked_fill(torch.tensor([True, False]), torch.tensor([3.0])) | torch.lerp(torch.tensor([1.0]), 2.0, 0.5)
torch.lerp(torch.tensor([1]), torch.tensor([2]), 0.5) | torch.addcdiv(torch.tensor([1]), torch.tensor([1]), torch.tensor([1]))
torch.addcmul(torch.tensor([1.0]), 2.0, torch.tensor([1.0])) | torch.view_as_complex(torch.zeros(3))
torch.view_as_complex(torch.zeros(3, 2, dtype=torch.int64)) | torch.view_as_complex(torch.zeros(2, 4)[:, ::2])
torch.complex(torch.tensor([1.0]), torch.tensor([1.0], dtype=torch.float64)) | torch.complex(torch.tensor([1]), torch.tensor([2]))
torch.tensor([1.0]).H | torch.tensor([1.0]).mH | torch.is_nonzero(torch.tensor([1.0, 2.0])) | torch.remainder(torch.tensor([1]), 0)
torch.tensor([1]) // 0 | torch.tensor([True]) // torch.tensor([True]) | torch.tensor([1j]) % 2 | torch.tensor([True]) ** torch.tensor([True])
torch.pow(torch.tensor([2]), -1) | torch.div(torch.tensor([1.0]), 2, rounding_mode='x') | torch.add(torch.tensor([1]), torch.tensor([1]), alpha=1.5)
torch.add(torch.tensor([1.0]), torch.tensor([1.0]), alpha=True) | torch.add(torch.tensor([1.0]), 1, alpha=1j) | torch.tensor([1, 2]).exp_()
torch.tensor([1, 2]).div_(2) | torch.tensor([1, 2]).add_(1.5) | torch.tensor([1.0, 2.0]).add_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
torch.exp(torch.tensor([1]), out=torch.empty(1, dtype=torch.int64)) | torch.eq(torch.tensor([1.0, 2.0]), torch.zeros(3))
torch.heaviside(torch.tensor([1.0]), torch.tensor([1])) | torch.exp(2.0) | torch.polygamma(-1, torch.tensor([1.0]))
torch.round(torch.tensor([12]), decimals=-1) | torch.addcmul(torch.tensor([1.0]), torch.tensor([1.0]), torch.tensor([1.0]), 2)
round(torch.tensor([1.5])) | torch.stft(torch.zeros(32), 8) | torch.istft(torch.zeros(5, 4), 8) | torch.renorm(torch.ones(2), 2, 0, 1.0)
torch._segment_reduce(torch.ones(2, 4), 'sum') | torch._segment_reduce(torch.ones(2, 4), 'sum', lengths=torch.tensor([1]))
torch._segment_reduce(torch.ones(2, 4), 'sum', lengths=torch.tensor([-1, 3]))
torch._segment_reduce(torch.ones(2, 4), 'sum', lengths=torch.tensor([2]), axis=1)
torch._segment_reduce(torch.ones(2, 4), 'sum', indices=torch.tensor([2])) | torch.linspace(0, 1e30, 4, dtype=torch.float16)
"""
# The kind is PyTorch's; the words are our own.
IN_OTHER_WORDS = """
torch.empty(2).uniform_(-3e38, 3e38) | torch.empty(2, dtype=torch.float16).uniform_(0, 70000) | torch.randperm(257, dtype=torch.uint8)
w.repeat_interleave(torch.tensor([2]), 1, output_size=7) | torch.tensor(1.0).repeat_interleave(2, 0)
torch.eq(torch.tensor([1.0]), None) | torch.eq(1, torch.tensor([1.0])) | torch.tensor([1.0, 2.0]).masked_fill(torch.tensor([1, 0]), 1)
torch.stft(torch.zeros(1, 1, 32), 8, return_complex=True) | torch.stft(torch.zeros(32), 64, center=False, return_complex=True)
torch.stft(torch.zeros(32), 8, win_length=9, return_complex=True)
"""


def calls(text: str) -> list[str]:
    return [c for line in text.strip().splitlines() for c in line.split(" | ")]


def error_of(lib: Any, call: str) -> Exception:
    names = {"torch": lib, "F": lib.nn.functional, "r": lib.randn, "x": lib.randn(3, 4), "i": lib.tensor([0, 2])}
    names |= {"w": lib.arange(12.0).reshape(3, 4), "mask": lib.tensor([True, False, True])}
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:  # noqa: PT011 - compared
        warnings.simplefilter("ignore")
        eval(call, names)
    return caught.value


@pytest.mark.parametrize("call", calls(REFUSED) + calls(IN_OTHER_WORDS))
def test_refused_as_by_pytorch(call: str) -> None:
    theirs, ours = error_of(torch, call), error_of(rl, call)
    assert type(ours) is type(theirs)
    want, got = (" ".join(str(e).replace("rushlight", "torch").split()) for e in (theirs, ours))
    assert got.startswith(want[:80]) or call in IN_OTHER_WORDS, (got, want)
