"""The fused attention op: PyTorch's values in half precision, and derivatives of both orders."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.operators.layers.attention_kernels import attention


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
    np.testing.assert_allclose(
        out.detach().float().numpy(), want.detach().float().numpy(), atol=0.02
    )
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
