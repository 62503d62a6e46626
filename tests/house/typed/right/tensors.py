"""Tensors: creation, arithmetic, shapes, reductions and what comes back."""

from typing import assert_type

import rushlight as torch

x = torch.randn(2, 3, dtype=torch.float64)
y = torch.zeros((2, 3), dtype=torch.float64, device="cpu")
assert_type(x, torch.Tensor)
assert_type(x + 1, torch.Tensor)
assert_type(2.0 * x - y, torch.Tensor)
assert_type(x @ y.T, torch.Tensor)
assert_type(x[0, 1:], torch.Tensor)
assert_type(x.view(3, 2).transpose(0, 1).sum(dim=1, keepdim=True), torch.Tensor)
assert_type(x.mean(), torch.Tensor)
assert_type(x.reshape(-1).add_(1).relu(), torch.Tensor)
assert_type(x.dim(), int)
assert_type(x.stride(), tuple[int, ...])
assert_type(x.stride(-1), int)
shape = x.shape
rows: int = shape[0]
stacked = torch.cat([x, y], dim=0)
pair = torch.stack((x, y))
mask = x > 0
where = torch.where(mask, x, y)
q, r = torch.linalg.qr(x)
best = x.max(dim=1)
values, indices = best
with torch.no_grad():
    x.clamp_(min=-1, max=1)
gradient = x.grad
if gradient is not None:
    print(gradient.norm())
print(rows, stacked.dtype, pair.device, where, values, indices, q, r, torch.float32, torch.pi)
