"""Uses of torchsde."""

import torch
import torchsde

LIBRARY = "torchsde"


class _Process(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self) -> None:
        super().__init__()
        self.mu, self.sigma = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

    def f(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.mu(y)

    def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.sigma(y).sigmoid()


def a_path_and_its_gradient() -> object:
    process, y, t = _Process(), torch.randn(3, 2), torch.linspace(0, 1, 4)
    noise = torchsde.BrownianInterval(0.0, 1.0, size=(3, 2), entropy=7)
    found = torchsde.sdeint(process, y, t, bm=noise, method="euler", dt=0.1)
    found[-1].sum().backward()
    return found, [p.grad.norm() for p in process.parameters()]


def milstein() -> object:
    noise = torchsde.BrownianInterval(0.0, 1.0, size=(3, 2), entropy=7)
    process, y, t = _Process(), torch.randn(3, 2), torch.tensor([0.0, 1.0])
    return torchsde.sdeint(process, y, t, bm=noise, method="milstein", dt=0.2)
