"""Uses of nflows."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms import CompositeTransform, RandomPermutation
from nflows.transforms.autoregressive import (
    MaskedAffineAutoregressiveTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)

LIBRARY = "nflows"


def training_a_flow() -> object:
    steps = [RandomPermutation(3), MaskedAffineAutoregressiveTransform(3, 8)]
    flow = Flow(CompositeTransform(steps), StandardNormal([3]))
    optimizer, x, losses = torch.optim.Adam(flow.parameters(), lr=0.01), torch.randn(16, 3), []
    for _ in range(4):
        loss = -flow.log_prob(x).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    return losses, flow.sample(3)


def splines() -> object:
    step = MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        3, 8, tails="linear", tail_bound=2.0
    )
    return step(torch.randn(4, 3))
