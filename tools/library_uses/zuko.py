"""Uses of zuko."""

import torch
import zuko

LIBRARY = "zuko"


def _trained(flow: torch.nn.Module) -> object:
    optimiser = torch.optim.Adam(flow.parameters(), lr=1e-2)
    x, c = torch.randn(32, 3), torch.randn(32, 2)
    losses = []
    for _ in range(3):
        loss = -flow(c).log_prob(x).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss)
    return losses, flow(c[:2]).sample((2,))


def masked_autoregressive() -> object:
    return _trained(zuko.flows.MAF(3, 2, transforms=2, hidden_features=(16, 16)))


def neural_splines() -> object:
    return _trained(zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16, 16)))


def continuous() -> object:
    flow = zuko.flows.CNF(2, 0, hidden_features=(8,))
    return flow().log_prob(torch.randn(4, 2))
