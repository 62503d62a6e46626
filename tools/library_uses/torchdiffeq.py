"""Uses of torchdiffeq."""

import torch
from torchdiffeq import odeint, odeint_adjoint

LIBRARY = "torchdiffeq"


class _Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.net(y)


def adaptive_and_fixed_steps() -> object:
    field, y, t = _Field(), torch.randn(3, 2), torch.linspace(0, 1, 4)
    return [odeint(field, y, t, method=m) for m in ("dopri5", "rk4", "euler")]


def gradients_by_the_adjoint() -> object:
    field, t = _Field(), torch.linspace(0, 1, 3)
    odeint_adjoint(field, torch.randn(3, 2), t, method="rk4")[-1].pow(2).sum().backward()
    return [p.grad.norm() for p in field.parameters()]
