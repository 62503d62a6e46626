"""Uses of performer-pytorch: attention by random features."""

import torch
from performer_pytorch import PerformerLM, SelfAttention

LIBRARY = "performer-pytorch"


def a_language_model() -> object:
    model = PerformerLM(
        num_tokens=20, dim=16, depth=1, heads=2, dim_head=8, max_seq_len=32, causal=False, nb_features=16
    )
    logits = model(torch.randint(20, (2, 32)))
    logits.logsumexp(-1).sum().backward()
    return logits[0, :4], [p.grad.norm() for p in model.parameters() if p.grad is not None]


def attention_alone() -> object:
    return SelfAttention(dim=16, heads=2, dim_head=8, causal=False)(torch.randn(1, 12, 16))
