"""Uses of hydra-zen: networks and optimisers built from settings."""

import torch
from hydra_zen import builds, instantiate, to_yaml

LIBRARY = "hydra-zen"


def networks_from_settings() -> object:
    Layer = builds(torch.nn.Linear, in_features=3, out_features=2, populate_full_signature=True)
    Adam = builds(torch.optim.Adam, lr=0.1, zen_partial=True)
    net = instantiate(Layer)
    optimizer = instantiate(Adam)(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return net.weight, "Linear" in to_yaml(Layer)
