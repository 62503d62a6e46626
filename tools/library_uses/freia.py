"""Uses of FrEIA: networks that can be inverted."""

import FrEIA.framework as framework
import FrEIA.modules as modules
import torch
from torch import nn

LIBRARY = "FrEIA"


def there_and_back() -> object:
    def inside(dims_in: int, dims_out: int) -> nn.Module:
        return nn.Sequential(nn.Linear(dims_in, 16), nn.ReLU(), nn.Linear(16, dims_out))

    net = framework.SequenceINN(4)
    for _ in range(3):
        net.append(modules.AllInOneBlock, subnet_constructor=inside, permute_soft=True)
    x = torch.randn(8, 4)
    z, slope = net(x)
    (0.5 * z.square().sum(1) - slope).mean().backward()
    return (z, slope, net(z, rev=True)[0], [p.grad.norm() for p in net.parameters() if p.grad is not None])
