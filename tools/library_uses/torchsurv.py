"""Uses of torchsurv: times until something happens."""

import torch
from torchsurv.loss import cox, weibull
from torchsurv.metrics.cindex import ConcordanceIndex

LIBRARY = "torchsurv"


def losses_and_scores() -> object:
    x, event, time = torch.randn(20, 3), torch.rand(20) < 0.6, torch.rand(20) * 10 + 0.1
    hazard, shape = torch.nn.Linear(3, 1), torch.nn.Linear(3, 2)
    first = cox.neg_partial_log_likelihood(hazard(x), event, time)
    second = weibull.neg_log_likelihood_weibull(shape(x), event, time)
    (first + second).backward()
    score = ConcordanceIndex()(hazard(x).detach().squeeze(), event, time)
    return first, second, hazard.weight.grad, shape.weight.grad, score
