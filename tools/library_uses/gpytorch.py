"""Uses of gpytorch."""

import gpytorch
import torch

LIBRARY = "gpytorch"


class _Exact(gpytorch.models.ExactGP):
    def __init__(self, x: torch.Tensor, y: torch.Tensor, likelihood: object) -> None:
        super().__init__(x, y, likelihood)
        self.mean = gpytorch.means.ConstantMean()
        self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x: torch.Tensor) -> object:
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))


def regression() -> object:
    x = torch.linspace(0, 1, 20)
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = _Exact(x, y, likelihood)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    bound, losses = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), []
    for _ in range(5):
        loss = -bound(model(x), y)
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    model.eval(), likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.tensor([0.33, 0.7])))
    return losses, found.mean, found.variance


def kernels() -> object:
    x = torch.randn(4, 2)
    kinds = (gpytorch.kernels.MaternKernel(nu=2.5), gpytorch.kernels.PeriodicKernel())
    return [k(x).to_dense() for k in kinds]
