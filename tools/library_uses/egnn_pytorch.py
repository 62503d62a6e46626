"""Uses of egnn-pytorch: nets that turn with their points."""

import torch
from egnn_pytorch import EGNN, EGNN_Network

LIBRARY = "egnn-pytorch"


def points_and_features() -> object:
    layer, feats, coors = (EGNN(dim=8, edge_dim=4, num_nearest_neighbors=3), torch.randn(2, 6, 8), torch.randn(2, 6, 3))
    new, moved = layer(feats, coors, torch.randn(2, 6, 6, 4))
    (new.sum() + moved.square().sum()).backward()
    net = EGNN_Network(num_tokens=5, dim=8, depth=2, num_nearest_neighbors=3, num_positions=6)
    out = net(torch.randint(5, (1, 6)), torch.randn(1, 6, 3), mask=torch.ones(1, 6).bool())
    return new, moved, [p.grad.norm() for p in layer.parameters()], out
