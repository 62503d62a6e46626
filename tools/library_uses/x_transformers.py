"""Uses of x-transformers."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper

LIBRARY = "x-transformers"


def a_decoder_and_its_loss() -> object:
    net = TransformerWrapper(
        num_tokens=40, max_seq_len=16, attn_layers=Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True)
    )
    model = AutoregressiveWrapper(net)
    loss = model(torch.randint(40, (2, 12)))
    loss.backward()
    return loss, sum(p.grad.norm() for p in net.parameters() if p.grad is not None)


def an_encoder_with_a_mask() -> object:
    layers = Encoder(dim=32, depth=2, heads=2, attn_flash=True, use_rmsnorm=True, ff_glu=True)
    net = TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=layers).eval()
    return net(torch.randint(40, (2, 8)), mask=torch.arange(8)[None] < torch.tensor([[5], [8]]))[0, 0]


def generation() -> object:
    net = TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=Decoder(dim=32, depth=1, heads=2))
    return AutoregressiveWrapper(net).generate(torch.tensor([[1, 2]]), 6, temperature=0.0)
