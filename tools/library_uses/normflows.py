"""Uses of normflows."""

import normflows as nf
import torch
from library_use import trained

LIBRARY = "normflows"


def _flow() -> nf.NormalizingFlow:
    parts = []
    for _ in range(3):
        net = nf.nets.MLP([1, 16, 16, 2], init_zeros=True)
        parts += [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
    return nf.NormalizingFlow(nf.distributions.DiagGaussian(2), parts)


def real_nvp_trained() -> object:
    flow = _flow()
    optimiser = torch.optim.Adam(flow.parameters(), lr=1e-2)
    data = nf.distributions.TwoMoons().sample(64)
    return trained(optimiser, 4, lambda: flow.forward_kld(data)), flow.sample(5)


def neural_splines() -> object:
    parts = [nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 16), nf.flows.LULinearPermute(2)]
    flow = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), parts)
    x = torch.randn(6, 2)
    loss = flow.forward_kld(x)
    loss.backward()
    return loss, flow.log_prob(x), [p.grad.norm() for p in flow.parameters() if p.grad is not None]


def residual_flow() -> object:
    net = nf.nets.LipschitzMLP([2, 16, 16, 2], init_zeros=True, lipschitz_const=0.9)
    flow = nf.NormalizingFlow(nf.distributions.DiagGaussian(2), [nf.flows.Residual(net, reduce_memory=False)])
    return flow.log_prob(torch.randn(4, 2))
