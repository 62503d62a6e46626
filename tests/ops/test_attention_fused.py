"""The fused attention op: PyTorch's values in half precision, and derivatives of both orders."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.nn.attention import SDPBackend, sdpa_kernel
from rushlight.operators.layers.attention.attention import attend, seen_attention
from rushlight.operators.layers.attention.attention_kernels import attention
from rushlight.operators.layers.attention.masked_attention_kernels import masked_attention


@pytest.mark.parametrize("causal", [False, True])
def test_half_precision_equals_pytorch(causal: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((2, 3, n, 8)).astype(np.float32) for n in (5, 7, 7)]
    mine = [rl.tensor(a).to(rl.bfloat16).requires_grad_() for a in arrays]
    theirs = [torch.tensor(a).to(torch.bfloat16).requires_grad_() for a in arrays]
    out = F.scaled_dot_product_attention(*mine, is_causal=causal)
    want = torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=causal)
    assert out.grad_fn.name() == "ScaledDotProductFusedAttentionBackward0"
    np.testing.assert_allclose(out.detach().float().numpy(), want.detach().float().numpy(), atol=0.02)
    out.float().pow(2).sum().backward()
    want.float().pow(2).sum().backward()
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(a.grad.float().numpy(), b.grad.float().numpy(), atol=0.06)


@pytest.mark.parametrize("causal", [False, True])
def test_derivatives_of_both_orders(causal: bool) -> None:
    rng = np.random.default_rng(1)
    inputs = [rl.tensor(rng.standard_normal((1, 1, n, 4))).requires_grad_() for n in (3, 4, 4)]

    def out(*qkv: rl.Tensor) -> rl.Tensor:
        return attention(*qkv, causal=causal, scale=0.3)[0]

    assert rl.autograd.gradcheck(out, inputs)
    assert rl.autograd.gradgradcheck(out, inputs)


def _masks(kind: str, rng: np.random.Generator) -> np.ndarray | None:
    """A mask for 2 samples, 4 heads, 5 queries and 16 keys; the second query may look at nothing."""
    seen = rng.random({"keys": (2, 1, 1, 16), "all": (2, 4, 5, 16), "queries": (5, 16)}[kind[:-1]]) < 0.7
    if seen.shape[-2] > 1:
        seen[..., 1, :] = False
    if kind[-1] == "b":
        return seen
    numbers = rng.standard_normal(seen.shape).astype(np.float32)
    return np.where(seen, numbers, -np.inf).astype(np.float32)


def _one_kernel(device: str) -> tuple:
    """How attention by one kernel is reached: on the GPU by itself in half precision, else by name."""
    if device == "cuda":
        return F.scaled_dot_product_attention, rl.bfloat16, 0.03

    def by_name(
        q: rl.Tensor, k: rl.Tensor, v: rl.Tensor, mask: rl.Tensor, p: float = 0.0, **_: bool
    ) -> rl.Tensor | None:
        return attend(q, k, v, mask, causal=False, scale=q.shape[-1] ** -0.5, p=p)

    return by_name, rl.float32, 1e-5


@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("kind", ["keysb", "keysf", "allb", "allf", "queriesb", "queriesf"])
def test_masks_and_groups_of_heads_equal_products(device: str, kind: str, groups: int) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal((2, h, n, 8)).astype(np.float32) for h, n in ((4, 5), (groups, 16), (groups, 16))]
    mask, call, dtype, close = _masks(kind, rng), *_one_kernel(device)
    found = []
    for on, kernel, kind_of in ((device, call, dtype), ("cpu", F.scaled_dot_product_attention, rl.float32)):
        q, k, v = [rl.tensor(a).to(dtype).to(on, kind_of).requires_grad_() for a in arrays]
        given = rl.tensor(mask).to(on)
        given = given if given.dtype == rl.bool else given.to(dtype).to(kind_of)
        with sdpa_kernel(SDPBackend.MATH) if on == "cpu" and kernel is not call else nullcontext():
            out = kernel(q, k, v, given, 0.0, enable_gqa=True)
        out.float().pow(2).sum().backward()
        found.append([t.detach().float().cpu().numpy() for t in (out, q.grad, k.grad, v.grad)])
    for mine, want in zip(*found):
        assert np.isfinite(mine).all()
        np.testing.assert_allclose(mine, want, atol=close * (1 + np.abs(want).max()))


@pytest.mark.parametrize("masked", [False, True])
def test_dropout_is_drawn_again_on_the_way_back(device: str, masked: bool) -> None:
    """With an identity matrix as values the result is the weights that were kept, scaled by 1 / (1 - p)."""
    call, dtype, _ = _one_kernel(device)
    rl.manual_seed(5)
    q, k = [rl.randn(2, 2, 64, 64).to(device, dtype) for _ in range(2)]
    v = rl.eye(64).expand(2, 2, 64, 64).contiguous().to(device, dtype).requires_grad_()
    mask = rl.ones(64, 64, dtype=rl.bool).tril().to(device) if masked else None
    out = call(q, k, v, mask, 0.25)
    weights = out.detach().float().cpu()
    plain = F.scaled_dot_product_attention(*[t.float().cpu() for t in (q, k, v)], mask if mask is None else mask.cpu())
    plain = plain.detach()
    kept = weights > 0
    possible = plain > 1e-3
    share = float(kept[possible].float().mean())
    assert 0.7 < share < 0.8
    np.testing.assert_allclose(weights[kept].numpy(), (plain / 0.75)[kept].numpy(), atol=0.02)
    gy = rl.randn(2, 2, 64, 64).to(device, dtype)
    out.backward(gy)
    want = weights.transpose(-2, -1) @ gy.float().cpu()
    np.testing.assert_allclose(v.grad.float().cpu().numpy(), want.numpy(), atol=0.05)
    again = call(q, k, v, mask, 0.25).detach().float().cpu()
    assert (again > 0)[possible].ne(kept[possible]).any()  # another call draws anew


@pytest.mark.parametrize("precision", ["highest", "high"])
@pytest.mark.parametrize(
    ("heads", "groups", "queries", "keys", "size", "values", "kind"),
    [
        (4, 2, 33, 127, 32, 32, "causal"), (2, 2, 129, 130, 40, 64, "causal"), (4, 1, 7, 129, 8, 12, "mask"),
        (2, 2, 1, 1, 4, 4, ""), (2, 1, 70, 300, 128, 68, "mask"), (2, 2, 9, 5, 5, 7, ""),
    ],
)  # fmt: skip
def test_float32_of_any_size_equals_the_hosts_products(
    device: str, heads: int, groups: int, queries: int, keys: int, size: int, values: int, kind: str, precision: str
) -> None:
    """Heads that lie beside each other in memory, fewer of keys than of queries, and lengths that no tile has."""
    rng = np.random.default_rng(7)
    shapes = ((queries, heads, size), (keys, groups, size), (keys, groups, values))
    arrays = [rng.standard_normal((2, *s)).astype(np.float32) for s in shapes]
    mask = rng.random((2, 1, queries, keys)) < 0.7 if kind == "mask" else None
    before = rl.get_float32_matmul_precision()
    found = []
    for on in (device, "cpu"):
        given = [rl.tensor(a).to(on).requires_grad_() for a in arrays]
        q, k, v = [t.transpose(1, 2) for t in given]
        seen = None if mask is None else rl.tensor(mask).to(on)
        rl.set_float32_matmul_precision(precision if on == device else "highest")
        try:
            with sdpa_kernel(SDPBackend.MATH) if on == "cpu" else nullcontext():
                out = F.scaled_dot_product_attention(
                    q, k, v, seen, is_causal=kind == "causal", enable_gqa=heads != groups
                )
            out.pow(2).sum().backward()
        finally:
            rl.set_float32_matmul_precision(before)
        found.append([t.detach().cpu().numpy() for t in (out, *[t.grad for t in given])])
    close = 2e-5 if precision == "highest" else 4e-3
    for mine, want in zip(*found):
        np.testing.assert_allclose(mine, want, atol=close * (1 + np.abs(want).max()))


def test_derivatives_of_masked_attention() -> None:
    rng = np.random.default_rng(1)
    shapes = ((1, 2, 3, 4), (1, 1, 4, 4), (1, 1, 4, 4))
    inputs = [rl.tensor(rng.standard_normal(s)).requires_grad_() for s in shapes]
    bias = rl.tensor(rng.standard_normal((1, 1, 3, 4)))

    def out(*qkv: rl.Tensor) -> rl.Tensor:
        return masked_attention(*qkv, bias, causal=False, scale=0.3, p=0.0)[0]

    assert rl.autograd.gradcheck(out, inputs)
    assert rl.autograd.gradgradcheck(out, inputs)


def test_a_mask_that_learns_takes_the_plain_way(device: str) -> None:
    q = rl.randn(1, 1, 3, 8).to(device, rl.bfloat16)
    mask = rl.zeros(3, 3).to(device, rl.bfloat16).requires_grad_()
    F.scaled_dot_product_attention(q, q, q, mask).float().sum().backward()
    assert mask.grad is not None


@pytest.mark.parametrize("kind", ["keysb", "allb", "queriesb", "keysf", "allf"])
def test_one_kernel_of_the_host_sees_through_a_mask(kind: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(5)
    mask = _masks(kind, rng)
    arrays = [rng.standard_normal((2, 4, n, 8)).astype(np.float32) for n in (5, 16, 16)]
    mine = [rl.tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = F.scaled_dot_product_attention(*mine, attn_mask=rl.tensor(mask))
    want = torch.nn.functional.scaled_dot_product_attention(*theirs, attn_mask=torch.tensor(mask))
    assert out.grad_fn.name() == want.grad_fn.name()
    np.testing.assert_allclose(out.detach().numpy(), want.detach().numpy(), atol=1e-6)
    out.pow(2).sum().backward()
    want.pow(2).sum().backward()
    for a, b in zip(mine, theirs):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), atol=1e-5)


def test_derivatives_of_both_orders_through_a_mask() -> None:
    rng = np.random.default_rng(1)
    inputs = [rl.tensor(rng.standard_normal((1, 1, n, 4))).requires_grad_() for n in (3, 4, 4)]
    mask = rl.tensor([[True, False, True, True], [False] * 4, [True] * 4])

    def out(*qkv: rl.Tensor) -> rl.Tensor:
        return seen_attention(*qkv, mask, scale=0.3)[0]

    assert rl.autograd.gradcheck(out, inputs)
    assert rl.autograd.gradgradcheck(out, inputs)


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_mask_and_causal_together(kind):
    """Of heads: a query sees what both let it see; elsewhere the two exclude each other."""
    torch = pytest.importorskip("torch")
    found = []
    for lib in (rl, torch):
        q = (lib.arange(48.0).reshape(1, 2, 6, 4) / 10).sin().requires_grad_()
        seen = lib.arange(36).reshape(6, 6) % 5 != 3
        mask = seen if kind == "bool" else lib.where(seen, 0.25, -1.0)
        call = lib.nn.functional.scaled_dot_product_attention
        y = call(q, q, q, attn_mask=mask, is_causal=True)
        y.pow(2).sum().backward()
        found.append([y.detach().numpy(), q.grad.numpy()])
        for wrong in ({"dropout_p": 0.1}, {"attn_mask": mask[None]}, {"query": q[0], "key": q[0], "value": q[0]}):
            words = {"query": q, "key": q, "value": q, "attn_mask": mask, "is_causal": True, **wrong}
            with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set"):
                call(**words)
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
