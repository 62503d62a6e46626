"""Uses of torchcde."""

import torch
import torchcde

LIBRARY = "torchcde"


class _Field(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4 * 3)

    def forward(self, t: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


def a_controlled_equation() -> object:
    x = torch.cat([torch.linspace(0, 1, 8).expand(2, 8).unsqueeze(-1), torch.randn(2, 8, 2)], -1)
    path = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(x))
    field = _Field()
    z = torchcde.cdeint(
        path, field, torch.randn(2, 4), path.interval, adjoint=False, method="rk4", options={"step_size": 0.5}
    )
    z[:, -1].sum().backward()
    return z, field.linear.weight.grad


def paths() -> object:
    x = torch.randn(2, 6, 3)
    x[0, 2, 1] = float("nan")
    linear = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(x))
    spline = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(x))
    t = torch.tensor([0.5, 2.25])
    return linear.evaluate(t), spline.evaluate(t), spline.derivative(t)
