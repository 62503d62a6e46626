"""Uses of fvcore."""

import torch
from fvcore.nn import giou_loss, sigmoid_focal_loss, smooth_l1_loss
from fvcore.nn.parameter_count import parameter_count

LIBRARY = "fvcore"


def losses() -> object:
    x, y = torch.randn(6, requires_grad=True), torch.tensor([0.0, 1, 0, 1, 1, 0])
    value = sigmoid_focal_loss(x, y, alpha=0.25, reduction="mean")
    value.backward()
    boxes = torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 3]])
    return value, x.grad, smooth_l1_loss(x, y, 0.5), giou_loss(boxes, boxes.flip(0))


def counts_of_parameters() -> object:
    return list(parameter_count(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))).values())
