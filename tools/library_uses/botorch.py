"""Uses of botorch."""

import torch
from botorch.acquisition import ExpectedImprovement, UpperConfidenceBound
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

LIBRARY = "botorch"


def _model() -> tuple:
    x = torch.rand(8, 2, dtype=torch.float64)
    y = -((x - 0.4) ** 2).sum(1, keepdim=True)
    return SingleTaskGP(x, y), y


def acquisition_of_a_model() -> object:
    model, y = _model()
    at = torch.tensor([[[0.2, 0.3]], [[0.5, 0.5]]], dtype=torch.float64)
    return ExpectedImprovement(model, y.max())(at), UpperConfidenceBound(model, beta=0.1)(at)


def fitted_and_optimised() -> object:
    model, _ = _model()
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    found, value = optimize_acqf(
        UpperConfidenceBound(model, beta=0.1), bounds, q=1, num_restarts=2, raw_samples=16
    )
    return found, value
