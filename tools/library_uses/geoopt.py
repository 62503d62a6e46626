"""Uses of geoopt: points and steps on curved spaces."""

import geoopt
import torch

LIBRARY = "geoopt"


def on_a_ball() -> object:
    ball = geoopt.PoincareBall()
    x = geoopt.ManifoldParameter(torch.randn(4, 3) * 0.1, manifold=ball)
    y = ball.expmap0(torch.randn(4, 3) * 0.3)
    optimizer = geoopt.optim.RiemannianAdam([x], lr=0.05)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = ball.dist(x, y).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, x


def orthogonal_matrices() -> object:
    stiefel = geoopt.Stiefel()
    x = geoopt.ManifoldParameter(stiefel.random(4, 3), manifold=stiefel)
    optimizer = geoopt.optim.RiemannianSGD([x], lr=0.1, momentum=0.9)
    target = torch.randn(4, 3)
    for _ in range(3):
        optimizer.zero_grad()
        (x - target).square().sum().backward()
        optimizer.step()
    return x, x.T @ x
