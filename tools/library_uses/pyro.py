"""Uses of pyro: variational inference and Hamiltonian sampling."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from pyro.optim import Adam

LIBRARY = "pyro-ppl"


def _model(x: torch.Tensor, y: torch.Tensor) -> None:
    w = pyro.sample("w", dist.Normal(0.0, 1.0))
    b = pyro.sample("b", dist.Normal(0.0, 1.0))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(w * x + b, 0.5), obs=y)


def _data() -> tuple:
    x = torch.linspace(-1, 1, 20)
    return x, 2 * x + 0.5 + 0.1 * torch.randn(20)


def variational_inference() -> object:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    data, guide = _data(), AutoNormal(_model)
    svi = SVI(_model, guide, Adam({"lr": 0.05}), Trace_ELBO())
    return [svi.step(*data) for _ in range(10)], guide.median()


def hamiltonian_sampling() -> object:
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    sampler = MCMC(NUTS(_model), num_samples=5, warmup_steps=5, disable_progbar=True)
    sampler.run(*_data())
    drawn = sampler.get_samples()
    return drawn["w"].shape, (drawn["w"].mean() - 2).abs() < 1, (drawn["b"] - 0.5).abs().mean() < 1


def densities() -> object:
    d = dist.MixtureSameFamily(
        dist.Categorical(torch.ones(3)), dist.Normal(torch.arange(3.0), torch.ones(3))
    )
    return d.log_prob(torch.tensor([0.1, 2.0])), dist.Delta(torch.tensor(1.0)).log_prob(
        torch.tensor(1.0)
    )
