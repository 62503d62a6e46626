"""Uses of ema-pytorch."""

import torch
from ema_pytorch import EMA

LIBRARY = "ema-pytorch"


def averages_of_weights() -> object:
    net = torch.nn.Linear(3, 2)
    ema = EMA(net, beta=0.9, update_after_step=1, update_every=2)
    for i in range(8):
        with torch.no_grad():
            net.weight.add_(i * 0.1)
        ema.update()
    return list(ema.ema_model.parameters()), ema(torch.ones(1, 3))


def post_hoc() -> object:
    from ema_pytorch import PostHocEMA

    net = torch.nn.Linear(3, 2)
    emas = PostHocEMA(
        net, sigma_rels=(0.05, 0.28), update_every=1, checkpoint_every_num_steps=3, checkpoint_folder="./c"
    )
    for _ in range(9):
        with torch.no_grad():
            net.weight.mul_(1.1)
        emas.update()
    return list(emas.synthesize_ema_model(sigma_rel=0.15)(torch.ones(1, 3)))
