"""Uses of opacus: gradients of each sample, and training with noise."""

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import RDPAccountant

LIBRARY = "opacus"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))


def gradients_of_samples() -> object:
    net = GradSampleModule(_net())
    x, y = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 2, 0])
    torch.nn.functional.cross_entropy(net(x), y).backward()
    return [p.grad_sample.flatten(1).norm(dim=1) for p in net.parameters()]


def training_with_noise() -> object:
    torch.manual_seed(0)
    x, y = torch.randn(16, 1, 8, 8), torch.randint(0, 3, (16,))
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    net = _net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net, opt, data = PrivacyEngine().make_private(
        module=net, optimizer=opt, data_loader=data, noise_multiplier=0.0, max_grad_norm=1.0, poisson_sampling=False
    )
    losses = []
    for a, b in data:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(a), b)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, sum(p.norm() for p in net.parameters())


def what_it_costs() -> object:
    accountant = RDPAccountant()
    for _ in range(10):
        accountant.step(noise_multiplier=1.1, sample_rate=0.05)
    return accountant.get_epsilon(delta=1e-5)
