"""Uses of loralib: layers with a part of low rank."""

import loralib
import torch
from library_use import trained
from torch import nn

LIBRARY = "loralib"


def parts_of_low_rank() -> object:
    model = nn.Sequential(
        loralib.Embedding(10, 6, r=2), loralib.MergedLinear(6, 9, r=3, enable_lora=[True, False, True]), nn.ReLU(),
        loralib.Linear(9, 4, r=2, lora_alpha=4),
    )  # fmt: skip
    loralib.mark_only_lora_as_trainable(model)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    x = torch.randint(10, (8, 5))
    losses = trained(optimizer, 3, lambda: model(x).square().mean())
    kept = loralib.lora_state_dict(model)
    after = model(x)
    return losses, kept, after, model.eval()(x)
