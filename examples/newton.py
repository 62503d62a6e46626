"""Newton's method with exact second derivatives: the bottom of the Rosenbrock valley in a few steps."""

import torch


def rosenbrock(p):
    x, y = p
    return 100 * (y - x**2) ** 2 + (1 - x) ** 2


p = torch.tensor([-1.5, 2.0], dtype=torch.float64)
for step in range(8):
    p.requires_grad_()
    value = rosenbrock(p)
    (gradient,) = torch.autograd.grad(value, p, create_graph=True)
    rows = [torch.autograd.grad(g, p, retain_graph=True)[0] for g in gradient]
    hessian = torch.stack(rows)
    print(f"step {step}  f{tuple(round(v, 4) for v in p.tolist())} = {value.item():.6f}")
    p = (p - torch.linalg.solve(hessian, gradient)).detach()
