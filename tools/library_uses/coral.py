"""Uses of coral-pytorch: classes that have an order."""

import torch
from coral_pytorch.dataset import corn_label_from_logits, levels_from_labelbatch, proba_to_label
from coral_pytorch.layers import CoralLayer
from coral_pytorch.losses import CoralLoss, coral_loss, corn_loss

LIBRARY = "coral-pytorch"


def ordered_classes() -> object:
    layer, x, y = CoralLayer(6, 5), torch.randn(8, 6), torch.randint(5, (8,))
    logits = layer(x)
    loss = coral_loss(logits, levels_from_labelbatch(y, 5)) + CoralLoss()(logits, levels_from_labelbatch(y, 5))
    loss.backward()
    other = torch.randn(8, 4)
    return (
        loss,
        [p.grad for p in layer.parameters()],
        proba_to_label(logits.sigmoid()).float(),
        corn_loss(other, y, 5),
        corn_label_from_logits(other).float(),
    )
