"""Distributions: sampling, probabilities, divergences."""

import rushlight as torch
from rushlight import distributions as D
from rushlight.distributions import Bernoulli, Categorical, Independent, MultivariateNormal, Normal, kl_divergence
from rushlight.distributions.transforms import TanhTransform

mean = torch.zeros(3, requires_grad=True)
p = Normal(mean, 1.0)
x = p.rsample()
y = p.sample((4,))
z = p.sample(torch.Size([2, 2]))
loss: torch.Tensor = -p.log_prob(x).sum() + p.entropy().mean()
loss.backward()
policy = Categorical(logits=torch.randn(2, 4))
action = policy.sample()
print(policy.log_prob(action), policy.probs, action.item() if action.numel() == 1 else action.tolist())
print(kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0)), Bernoulli(0.3).mean, Bernoulli(logits=torch.zeros(2)).variance)
print(MultivariateNormal(torch.zeros(2), torch.eye(2)).sample().shape, Independent(p, 1).batch_shape)
squashed = D.TransformedDistribution(Normal(torch.zeros(2), torch.ones(2)), [TanhTransform(cache_size=1)])
print(squashed.rsample((3,)).shape, D.Uniform(0, 1).sample(), D.Beta(0.5, torch.tensor([0.5])).mean, y.shape, z.shape)
mix = D.MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.zeros(2), torch.ones(2)))
print(mix.log_prob(torch.tensor(0.1)), D.Poisson(4.0).sample([2]), D.Gamma(1.0, 1.0).rsample())
