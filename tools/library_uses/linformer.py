"""Uses of linformer: attention of linear cost."""

import torch
from linformer import LinformerLM

LIBRARY = "linformer"


def a_model_of_tokens() -> object:
    net = LinformerLM(num_tokens=20, dim=16, seq_len=12, depth=2, heads=2, k=4, one_kv_head=True)
    y = net(torch.randint(20, (2, 12)))
    y.logsumexp(-1).mean().backward()
    return y[0], [p.grad.norm() for p in net.parameters()]
