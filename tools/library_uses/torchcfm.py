"""Uses of torchcfm: flows matched to samples."""

import torch
from torchcfm.conditional_flow_matching import (
    ConditionalFlowMatcher,
    ExactOptimalTransportConditionalFlowMatcher,
    SchrodingerBridgeConditionalFlowMatcher,
    VariancePreservingConditionalFlowMatcher,
)
from torchcfm.models.models import MLP

LIBRARY = "torchcfm"


def flows_matched() -> object:
    model, found = MLP(dim=2, time_varying=True), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for matcher in (ConditionalFlowMatcher(0.1), ExactOptimalTransportConditionalFlowMatcher(0.1),
                    SchrodingerBridgeConditionalFlowMatcher(0.5), VariancePreservingConditionalFlowMatcher(0.1)):  # fmt: skip
        t, xt, ut = matcher.sample_location_and_conditional_flow(torch.randn(16, 2), torch.randn(16, 2) + 3)
        loss = (model(torch.cat([xt, t[:, None]], -1)) - ut).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss)
    return found
