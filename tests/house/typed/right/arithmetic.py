"""Indexing and arithmetic with numbers, arrays and masks."""

from typing import assert_type

import numpy as np

import rushlight as torch
from rushlight import Tensor

x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
index = torch.tensor([0, 2])
mask = x > 5
assert_type(x[index], Tensor)
assert_type(x[mask], Tensor)
assert_type(x[..., None, 1:3], Tensor)
x[0] = 1.0
x[mask] = 0
x[:, 1] += 2.5
x[index, torch.tensor([1, 1])] = torch.tensor([7.0, 8.0])
assert_type(1 - x, Tensor)
assert_type(2**x, Tensor)
assert_type(x // 2 % 3, Tensor)
assert_type(x / np.float32(2), Tensor)
assert_type(-(x.abs() ** 0.5), Tensor)
assert_type(~mask | (x < 1) & mask ^ mask, Tensor)
assert_type(x == 1, Tensor)
assert_type(x != x, Tensor)
same = bool((x == x).all())
total: float = float(x.sum())
count: int = int(mask.sum())
if x.sum() > 3 and x.max().item() < 100:
    print(total, count, same)
for row in x:
    print(row.sum())
assert_type(len(x), int)
a: np.ndarray = x.numpy()
b = torch.from_numpy(a)
c = torch.as_tensor([[1, 2], [3, 4]], dtype=torch.int64, device="cpu")
n, m = x.shape
assert_type(x.shape[-1], int)
rows, sizes = assert_type(x.size(0), int), assert_type(x.size(), torch.Size)
assert_type(x.numel(), int)
parts = x.split(2, dim=1)
first, second = torch.chunk(x, 2, dim=1)
left, right = x.unbind(0)[:2]
values, order = torch.sort(x, dim=1, descending=True)
top = torch.topk(x, k=2, dim=-1)
print(top.values, top.indices, torch.topk(x, 2)[0])
low = x.min(dim=0).values
std, mean = torch.std_mean(x, dim=0)
u, s, vh = torch.linalg.svd(x, full_matrices=False)
e = torch.einsum("ij,kj->ik", x, x)
grid = torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
z = torch.where(mask, x, 0.0).clamp(0, 5).round().to(torch.int64)
one = torch.nn.functional.one_hot(z, num_classes=6)
out = torch.empty(3, 4)
torch.add(x, x, alpha=2, out=out)
x.add_(1).mul_(2.0).sub_(x).zero_().fill_(3)
y = x.clone().detach().requires_grad_(True)
(g,) = torch.autograd.grad(y.sum(), [y])
h = torch.autograd.grad(y.pow(2).sum(), y, create_graph=True)[0]
y.sum().backward(torch.tensor(1.0), retain_graph=True)
gradient: Tensor | None = y.grad
print(
    rows,
    sizes,
    gradient,
    parts,
    first,
    second,
    left,
    right,
    values,
    order,
    low,
    std,
    mean,
    u,
    s,
    vh,
    e,
    grid,
    one,
    g,
    h,
    b,
    c,
    n,
    m,
)
print(
    f"{x.mean():.3f}",
    x.dtype == torch.float32,
    x.device.type,
    x.is_cuda,
    x.requires_grad,
    x.ndim,
    x.T.stride(),
    x.dtype.is_floating_point,
)
