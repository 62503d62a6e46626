"""Uses of pytorch-crf: the likelihood of tag sequences, and the best ones."""

import torch
from torchcrf import CRF

LIBRARY = "pytorch-crf"


def likelihood_of_tags() -> object:
    crf = CRF(4, batch_first=True)
    scores = torch.randn(3, 6, 4, requires_grad=True)
    tags = torch.randint(4, (3, 6))
    mask = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] * 5 + [0]], dtype=torch.bool)
    loss = -crf(scores, tags, mask=mask, reduction="token_mean")
    loss.backward()
    return loss, scores.grad, crf.transitions.grad, crf.decode(scores, mask)
