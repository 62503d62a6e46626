"""Uses of shap: what each input adds to an output of a network."""

import shap
import torch

LIBRARY = "shap"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))


def deep_explainer() -> object:
    net, background = _net(), torch.randn(10, 5)
    explainer = shap.DeepExplainer(net, background)
    return explainer.shap_values(torch.randn(3, 5)), explainer.expected_value


def gradient_explainer() -> object:
    net, background = _net(), torch.randn(10, 5)
    return shap.GradientExplainer(net, background).shap_values(torch.randn(2, 5), nsamples=20, rseed=0)
