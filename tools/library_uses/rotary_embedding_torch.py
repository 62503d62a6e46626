"""Uses of rotary-embedding-torch."""

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

LIBRARY = "rotary-embedding-torch"


def queries_and_keys() -> object:
    turn = RotaryEmbedding(dim=8)
    return [turn.rotate_queries_or_keys(torch.randn(1, 2, 4, 16)).sum(-1) for _ in range(2)]


def over_two_axes() -> object:
    turn = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=16)
    return apply_rotary_emb(turn.get_axial_freqs(3, 3), torch.randn(1, 3, 3, 16)).sum(-1)
