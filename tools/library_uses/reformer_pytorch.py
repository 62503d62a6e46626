"""Uses of reformer-pytorch: attention by hashing, and layers that are undone in backward."""

import torch
from reformer_pytorch import LSHSelfAttention, ReformerLM

LIBRARY = "reformer-pytorch"


def hashed_attention() -> object:
    layer = LSHSelfAttention(dim=16, heads=2, bucket_size=4, n_hashes=2, causal=False)
    x = torch.randn(2, 16, 16, requires_grad=True)
    y = layer(x)
    y.square().mean().backward()
    return y[0, :4], x.grad[0, :4], y.norm(), x.grad.norm()


def a_reversible_model() -> object:
    net = ReformerLM(num_tokens=20, dim=16, depth=2, max_seq_len=16, heads=2, bucket_size=4, n_hashes=2, causal=True)
    tokens = torch.randint(20, (2, 16))
    loss = torch.nn.functional.cross_entropy(net(tokens).transpose(1, 2), tokens)
    loss.backward()
    return loss, [p.grad.norm() for p in net.parameters() if p.grad is not None]
