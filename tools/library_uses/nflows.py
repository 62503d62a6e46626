"""Uses of nflows."""

import torch
from library_use import trained
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
    optimizer, x = torch.optim.Adam(flow.parameters(), lr=0.01), torch.randn(16, 3)
    return trained(optimizer, 4, lambda: -flow.log_prob(x).mean()), flow.sample(3)


def splines() -> object:
    step = MaskedPiecewiseRationalQuadraticAutoregressiveTransform(3, 8, tails="linear", tail_bound=2.0)
    return step(torch.randn(4, 3))
