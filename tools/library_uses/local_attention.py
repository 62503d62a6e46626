"""Uses of local-attention: windows of tokens that look at their neighbours."""

import torch
from local_attention import LocalAttention, LocalTransformer

LIBRARY = "local-attention"


def windows() -> object:
    attend = LocalAttention(dim=8, window_size=4, causal=True, look_backward=1, autopad=True)
    q, k, v = (torch.randn(2, 2, 11, 8, requires_grad=True) for _ in range(3))
    y = attend(q, k, v, mask=torch.ones(2, 11).bool())
    y.square().sum().backward()
    return y[0, 0], q.grad[0, 0], v.grad.norm()


def a_transformer() -> object:
    net = LocalTransformer(
        num_tokens=20, dim=16, depth=2, max_seq_len=16, causal=True, local_attn_window_size=4, heads=2, dim_head=8
    )
    loss = net(torch.randint(20, (2, 16)), return_loss=True)
    loss.backward()
    return loss, [p.grad.norm() for p in net.parameters() if p.grad is not None]
