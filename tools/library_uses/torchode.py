"""Uses of torchode: equations solved in parallel, each with its own steps."""

import torch
import torchode

LIBRARY = "torchode"


def a_batch_of_problems() -> object:
    rate = torch.tensor(1.5, requires_grad=True)
    term = torchode.ODETerm(lambda t, y: -rate * y)
    solver = torchode.AutoDiffAdjoint(
        torchode.Dopri5(term=term), torchode.IntegralController(atol=1e-6, rtol=1e-4, term=term)
    )
    times = torch.linspace(0, 2, 7).repeat(3, 1)
    y0 = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.1]])
    solved = solver.solve(torchode.InitialValueProblem(y0=y0, t_eval=times))
    solved.ys.square().sum().backward()
    return solved.ys, rate.grad, solved.stats["n_steps"].float()
