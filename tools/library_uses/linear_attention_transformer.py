"""Uses of linear-attention-transformer: a language model whose attention is linear in the length."""

import torch
from linear_attention_transformer import LinearAttentionTransformerLM

LIBRARY = "linear-attention-transformer"


def a_causal_model() -> object:
    net = LinearAttentionTransformerLM(
        num_tokens=20, dim=16, heads=2, depth=2, max_seq_len=32, causal=True, n_local_attn_heads=1, local_attn_window_size=8,
    )  # fmt: skip
    tokens = torch.randint(20, (2, 32))
    loss = torch.nn.functional.cross_entropy(net(tokens).transpose(1, 2), tokens)
    loss.backward()
    return loss, [p.grad.norm() for p in net.parameters() if p.grad is not None]
