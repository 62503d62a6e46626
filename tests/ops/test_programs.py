"""Small programs of views, writes in place, `out=` and modes: after each line every tensor is as PyTorch's."""

from __future__ import annotations

import pytest

from programs import Pair

torch = pytest.importorskip("torch")

# Each failed when it was written; most were found by random programs like those of test_random_programs.py.
PROGRAMS = {
    "views in inference mode are what their base is": """
        t = torch.ones(2, 3)
        with torch.inference_mode(): t1 = t.view(3, 2); t2 = t.detach(); t3 = t[0]; t4 = t + 1; t5 = t4.view(-1); t6 = t.unbind()
        t7 = t4.view(6); t8 = t4.detach(); t9 = t4.chunk(2); tt = t4.data
        t1.add_(1)
        with torch.inference_mode(): t5.add_(1)
    """,
    "out= under no_grad takes tensors that require grad": """
        t = torch.ones(2, 3, requires_grad=True)
        t1 = torch.zeros(2)
        with torch.no_grad(): torch.sum(t, 1, out=t1)
        with torch.inference_mode(): torch.exp(t[:, 0], out=t1)
        torch.sum(t, 1, out=t1)
        t2 = torch.zeros(2, dtype=torch.int64)
        torch.mean(t, 1, out=t2)
        torch.sum(t, 1, out=t2)
        with torch.no_grad(): torch.sum(t, 1, out=t2)
    """,
    "numbers that a dtype cannot hold are refused": """
        t = torch.tensor([1, 200], dtype=torch.uint8)
        t1 = t.clamp(-3, 300)
        t1 = t.clamp(max=300)
        t1 = t.clamp(-3.5, 300)
        t1 = torch.tensor([1, 2], dtype=torch.int8).clamp(max=1000)
        t.fill_(-3.0)
        t.fill_(-3)
        t.masked_fill_(t > 0, -3)
        t.masked_fill_(t > 0, 300)
        t[0] = -3.0
        t[torch.tensor([0])] = 300
        t1 = F.pad(t, (1, 1), value=-3)
        t1 = torch.full((2,), 1e300)
        t1 = torch.zeros(2).fill_(-1e300)
        t1 = torch.zeros(2).fill_(math.inf)
        t1 = torch.zeros(2, dtype=torch.int64) + 2**70
        t1 = t ** -1
        t1 = torch.addcmul(t, t, t, value=-1)
    """,
    "dim is no bool, and axis is another name for it": """
        t = torch.ones(2, 3)
        t1 = t.softmax(True)
        t1 = t.cumsum(True)
        t1 = t.max(True)
        t1 = t.argmax(False)
        t1 = t.unsqueeze(True)
        t1 = t.transpose(False, True)
        t1 = torch.cat([t, t], True)
        t1 = torch.cat([t, t], False)
        t1 = torch.cat([t, t], dim=0, axis=1)
        t1 = torch.cat([t, t], axis=1)
        t2 = torch.stack([t, t], dim=0, axis=0)
        t2 = t.chunk(2, dim=0, axis=1)
        t2 = t.unbind(dim=0, axis=1)
        t2 = t.squeeze(dim=0, axis=1)
        t2 = t.split(1, dim=0, axis=1)
        t2 = t.chunk(2, axis=1); t3 = t.unbind(axis=1); t4 = torch.stack([t, t], axis=2); t5 = t.split(1, axis=1)
    """,
    "gradients that do not exist are not dropped in silence": """
        t = torch.tensor([1.0, 2.0, 2.0], requires_grad=True)
        z = [x.requires_grad for x in torch.histogram(t, 2)] + [t.unique().requires_grad, t.unique_consecutive().requires_grad]
        torch.histogram(t, 2)[0].sum().backward()
        t.unique().sum().backward()
        t1 = torch.randn(4, 3).log_softmax(1); t2 = torch.tensor([0, 1, 2, 0]); t3 = torch.rand(4, 3); t4 = torch.rand(3)
        z = F.nll_loss(t1, t2, t)
        z = F.cross_entropy(t1, t2, t)
        z = F.cross_entropy(t1, t3, t).item()
        z = F.binary_cross_entropy(t3, t3, t)
        z = F.binary_cross_entropy_with_logits(t1, t3, t)
        z = F.binary_cross_entropy_with_logits(t1, t3, pos_weight=t)
        z = F.multi_margin_loss(t1, t2, weight=t)
        z = F.batch_norm(t1, t, t4)
        with torch.no_grad(): z = F.nll_loss(t1, t2, t).item(); z1 = F.batch_norm(t1, t, t4).tolist()[0][0]
    """,
    "the residuals of least squares have a gradient": """
        t = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dtype=torch.float64, requires_grad=True)
        t1 = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
        torch.linalg.lstsq(t, t1, driver="gelsd").residuals.sum().backward()
    """,
    "binary cross entropy of two dtypes has the target's": """
        t = torch.tensor([0.5, -2.0], requires_grad=True); t1 = torch.tensor([1.0, 0.0], dtype=torch.float64)
        z = F.binary_cross_entropy_with_logits(t, t1).dtype; z1 = F.binary_cross_entropy_with_logits(t1, t).dtype
        z2 = F.binary_cross_entropy_with_logits(t, t1.half(), pos_weight=t1).dtype
        F.binary_cross_entropy_with_logits(t, t1, reduction="sum").backward()
        z3 = F.binary_cross_entropy_with_logits(t, t1.long())
        z3 = F.binary_cross_entropy_with_logits(t.long(), t1.long())
        z3 = F.binary_cross_entropy(t1.long(), t1.long())
        z3 = F.multi_margin_loss(torch.ones(2, 2).long(), torch.tensor([0, 1]))
    """,
    "memory whose dims lie in another order": """
        t = torch.arange(12).reshape(2, 3, 2).transpose(1, 0).clone()
        t1 = t.as_strided((1, 2), (3, 1)); t2 = t.as_strided((12,), (1,))
        z = t.untyped_storage().tolist(); t3 = torch.tensor([]).long().set_(t.untyped_storage(), 2, (3,))
        t1.add_(100)
        t.resize_(2, 2)
    """,
    "contracting a dim of size 1": """
        t = torch.arange(6).reshape(2, 3); t1 = torch.arange(2.0).reshape(1, 2)
        t2 = torch.tensordot(t.float(), t1, 1); t3 = torch.tensordot(t1, torch.ones(2, 1), dims=([0, 1], [1, 0]))
    """,
    "one value of another dtype where a mask is true": """
        t = torch.zeros(3); t1 = torch.zeros(3, 2)
        t[t == 0] = torch.tensor(1)
        t[torch.tensor([True, False, True]), None] = torch.tensor([2])
        t1[:, torch.tensor([True, False])] = torch.tensor(3, dtype=torch.float64)
        t.index_put_((t > 1,), torch.tensor(4))
        t[True] = torch.tensor(5)
        t[torch.tensor([0, 1])] = torch.tensor(1)
        t1[torch.tensor([True, False, True])] = torch.tensor([1, 2])
        t.index_put_((t > 1,), torch.tensor(4), accumulate=True)
        t.copy_(t); t[...] = t
    """,
    "the stride of a new dim": """
        t = torch.arange(12.0).reshape(3, 4)
        t1 = t[:, ::2].unsqueeze(0); t2 = t[:, ::2].unsqueeze(1); t3 = t[:, ::2].unsqueeze(2); t4 = t.t()[:, None]; t5 = t[:, ::2][None]
        t6 = torch.ones(3).expand(2, 1, 3); t7 = torch.ones(4)[::2].expand(1, 1, 2); t8 = torch.zeros(2, 0); t9 = torch.zeros(2, 0, 3)[0]
    """,
    "views of what has few dims": """
        t = torch.ones(3, requires_grad=True)
        t1 = t.t(); t2 = torch.tensor(2.0, requires_grad=True).t()
        t3 = torch.tensor(2.0).mT; t4 = torch.tensor(2.0).movedim(0, -1)
        t5 = t.adjoint()
        t6, t7 = torch.broadcast_tensors(t, torch.ones(2, 3))
        z8 = torch.zeros(0, dtype=torch.int32).view(torch.uint8).tolist()
        t9 = F.relu(torch.ones(2) * 1j)
    """,
    "shapes that index_add and index_copy take": """
        t = torch.zeros(3, 2)
        t1 = t.index_add(1, torch.tensor([0]), torch.tensor(1.0))
        t1 = t[0].index_add(0, torch.tensor([0]), torch.tensor(1.0))
        t1 = t[0, 0].index_add(0, torch.tensor([0]), torch.ones(1))
        t1 = t.index_add(0, torch.tensor([0]), torch.ones(1, 2))
        t1 = t.index_copy(0, torch.tensor([0]), torch.tensor(1.0))
        t1 = t.index_copy(1, torch.tensor([0]), torch.ones(1, 2))
        t1 = t[0].index_copy(0, torch.tensor([0]), torch.tensor(1.0))
    """,
    "resizing a view of other numbers": """
        t = torch.tensor([[1 + 2j]])
        t1 = t.real
        t1.resize_(1)
    """,
    "negative numbers as bytes": """
        t = torch.tensor([-3.0, 300.0, -1.5, 1e10])
        t1 = t.to(torch.uint8); t2 = torch.cat([t] * 9).byte(); t3 = t.bfloat16().byte(); t4 = t.half()[:3].byte()
        t5 = torch.zeros(4, dtype=torch.uint8); t5.copy_(t); t5[:] = -t
    """,
    "sums into out are computed in its dtype": """
        t = torch.tensor([0.5, 0.5, 1.5])
        t1 = torch.sum(t, 0, out=torch.empty(0, dtype=torch.int64))
        t2 = torch.cumsum(t, 0, out=torch.empty(0, dtype=torch.int32))
        t3 = torch.prod(t, 0, out=torch.empty(0, dtype=torch.int64))
        t4 = torch.mean(torch.tensor([1.0, 1e-9, 0.0]), 0, out=torch.empty(0, dtype=torch.float64))
        t5 = torch.cat([t, t], out=t1)
    """,
    "a refused out= keeps its shape": """
        t = torch.ones(2, 3)
        t2 = torch.ones(2, requires_grad=True); t2.data = torch.ones(2, dtype=torch.int64)
        t1 = torch.zeros(4, dtype=torch.int64)
        torch.exp(t, out=t1)
        torch.add(t, 1, out=t1)
        torch.add(torch.ones(2), 1, out=torch.zeros(1).expand(2))
    """,
}
# Functions that want `out` to have the dtype of the result, and some that do not.
OUTS = """
    abs(t, out=o) neg(t, out=o) sign(t, out=o) floor(t, out=o) round(t, out=o) frac(t, out=o) signbit(t, out=o) isposinf(t, out=o)
    all(t,1,out=o) any(t,1,out=o) amax(t,1,out=o) argmax(t,1,out=o) sum(t,1,out=o) mean(t,1,out=o) prod(t,1,out=o) cumsum(t,1,out=o) cumprod(t,1,out=o)
    mm(t,t.T,out=o) matmul(t,t.T,out=o) inner(t,t,out=o) tensordot(t,t,2,out=o) outer(t[0],t[1],out=o) kron(t,t,out=o) addmm(t,t,torch.eye(3),out=o)
    gather(t,1,i,out=o) index_select(t,1,i[0],out=o) take(t,i,out=o) masked_select(t,t>0,out=o) nonzero(t,out=o) where(t>0,t,t,out=o)
    tril(t,out=o) diag(t,out=o) clamp(t,0,1,out=o) clamp(t,t,t,out=o) softmax(t,1,out=o) msort(t,out=o) quantile(t,0.5,out=o) histc(t,out=o)
    bucketize(t,t[0],out=o) isin(t,t,out=o) nan_to_num(t,out=o) float_power(t,2,out=o) heaviside(t,t,out=o) lerp(t,t,0.5,out=o) lerp(t,t,t,out=o)
    norm(t,out=o) cat([t,t],out=o) stack([t,t],out=o) add(t,t,out=o) gt(t,t,out=o) exp(t,out=o)
    linalg.inv(s,out=o) linalg.det(s,out=o) linalg.norm(t,out=o) linalg.cholesky(s,out=o) fft.fft(t,out=o) t_copy(t,out=o) logcumsumexp(t,1,out=o)
""".split("\n")
CALLS = [part.strip() + "out=o)" for part in " ".join(OUTS).split("out=o)") if part.strip()]
DTYPES = ("float32", "float64", "int64", "uint8", "bool", "float16", "complex64")


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_line_leaves_the_same(name: str) -> None:
    pair = Pair(torch)
    for line in PROGRAMS[name].strip().split("\n"):
        found = pair.run(line.strip())
        assert found is None, f"{line.strip()}\n{found}"


@pytest.mark.parametrize("mode", ["enable_grad", "no_grad"])
def test_inference_tensors_are_not_written_to_outside(mode: str) -> None:
    import rushlight

    for lib in (rushlight, torch):
        with lib.inference_mode():
            t = lib.ones(2)
        with getattr(lib, mode)(), pytest.raises(RuntimeError, match="Inplace update to inference"):
            t.add_(1)


@pytest.mark.parametrize("call", CALLS, ids=lambda c: c.split("(")[0])
def test_the_dtype_of_out(call: str) -> None:
    for dtype in DTYPES:
        pair = Pair(torch)
        pair.run("t = torch.arange(6.0).reshape(2, 3) - 2; s = torch.eye(2); i = torch.tensor([[0, 1]])")
        found = pair.run(f"o = torch.empty(0, dtype=torch.{dtype}); t1 = torch.{call}", ("stride", "is_contiguous"))
        assert found is None, f"{dtype}: {found}"


def test_the_gradient_of_a_singular_matrix_is_no_error() -> None:
    import rushlight

    for lib in (rushlight, torch):
        for function in (lambda a: lib.slogdet(a)[1].sum(), lambda a: lib.logdet(a).sum()):
            x = lib.tensor([[[1.0, 2.0], [2.0, 4.0]], [[2.0, 0.0], [0.0, 4.0]]], requires_grad=True)
            function(x).backward()
            assert not lib.isfinite(x.grad[0]).any()
            assert x.grad[1].tolist() == [[0.5, 0.0], [0.0, 0.25]]
