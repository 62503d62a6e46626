"""Which kernels an eager step passes the door with: fewer of them is what makes small steps quick."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import rushlight as rl
from rushlight.nn import functional as F
from rushlight.runtime.door import listening


def kernels(call) -> Counter:
    seen: Counter = Counter()

    def listen(kernel, arrays, attrs, run):
        seen[kernel.name] += 1
        return run()

    with listening(listen):
        call()
    return seen


@pytest.mark.parametrize("mask", [None, "one for all", "one for every head"])
def test_multi_head_attention_in_half_precision_is_one_kernel(device, mask):
    net = rl.nn.MultiheadAttention(32, 4, batch_first=True).to(device, rl.bfloat16)
    x = rl.randn(2, 5, 32).to(device, rl.bfloat16)
    given = None
    if mask is not None:
        given = rl.zeros(8 if "every" in mask else 1, 5, 5).to(device, rl.bfloat16)
        given = given if "every" in mask else given[0]
    found = []
    seen = kernels(lambda: found.append(net(x, x, x, need_weights=False, attn_mask=given)[0]))
    if mask is None:
        assert seen["attention"] == 1 and not seen["attention_weights"]
    expected = net(x, x, x, need_weights=True, attn_mask=given)[0]
    assert found[0].shape == expected.shape
    close = np.abs((found[0] - expected).float().detach().cpu().numpy()).max()
    assert close < 0.02


def test_the_packed_projection_sends_one_gradient_back(device):
    net = rl.nn.MultiheadAttention(32, 4).to(device)
    x = rl.randn(5, 2, 32).to(device)
    out = net(x, x, x, need_weights=False)[0].sum()
    seen = kernels(out.backward)
    assert seen["cat"] == 1 and not seen["unwindow"]


def test_dropout_of_nothing_is_the_tensor_itself(device):
    x = rl.randn(3, 4).to(device).requires_grad_()
    for v in (x, x * 2):
        assert F.dropout(v, 0.0) is v
        assert F.dropout(v * 1, 0.0, inplace=True)._version == 0
        assert F.feature_alpha_dropout(v, 0.0, True) is v
        assert not kernels(lambda batch=v[None]: F.dropout1d(batch, 0.0))
