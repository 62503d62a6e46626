"""Uses of pytorch-metric-learning."""

import torch
from pytorch_metric_learning import distances, losses, miners

LIBRARY = "pytorch-metric-learning"


def _data() -> tuple:
    return torch.randn(12, 6, requires_grad=True), torch.arange(12) % 4


def losses_of_pairs_and_triplets() -> object:
    found = []
    for kind in (losses.ContrastiveLoss, losses.TripletMarginLoss, losses.NTXentLoss):
        x, y = _data()
        value = kind()(x, y)
        value.backward()
        found += [value, x.grad.norm()]
    return found


def mined_pairs() -> object:
    x, y = _data()
    pairs = miners.MultiSimilarityMiner(distance=distances.CosineSimilarity())(x, y)
    return losses.MultiSimilarityLoss()(x, y, pairs), [len(p) for p in pairs]


def a_loss_with_weights() -> object:
    x, y = _data()
    loss = losses.ArcFaceLoss(num_classes=4, embedding_size=6)
    loss(x, y).backward()
    return loss.W.grad.norm(), x.grad.norm()
