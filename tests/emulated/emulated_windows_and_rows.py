"""Pools, group norm, places of images, rows by number, windows of each channel and float32 attention on the emulated GPU.

Values, gradients and the order of memory beside the CPU's, of row-major operands, of turned ones and of pictures whose
channels lie innermost: what is packed for one of them must not be found for another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.bodies.indexing import index_put_into

F = rl.nn.functional
random = np.random.default_rng(0)


def drawn(*shape: int) -> rl.Tensor:
    return rl.tensor(random.standard_normal(shape).astype("f"))


def picked(n: int, *shape: int) -> rl.Tensor:
    return rl.tensor(random.integers(-n, n, shape))


def turned(x: rl.Tensor) -> rl.Tensor:
    return x.transpose(-1, -2).contiguous().transpose(-1, -2)


def last(x: rl.Tensor) -> rl.Tensor:
    return x.contiguous(memory_format=rl.channels_last)


def beside(fn: Callable[..., Any], *given: rl.Tensor) -> None:
    """The results and the gradients of all that is no index, twice: the second call finds what the first packed."""
    for _ in range(2):
        seen = []
        for device in ("cpu", "cuda"):
            xs = [x.to(device).detach().requires_grad_(x.is_floating_point()) for x in given]
            out = fn(*xs)
            out = out if isinstance(out, tuple) else (out,)
            found = [a.detach() for a in out]
            if out[0].requires_grad:
                weights = rl.arange(float(out[0].numel())).cos().reshape(out[0].shape)
                out[0].backward(weights.to(device))
                found += [x.grad for x in xs if x.grad is not None]
            seen.append([a.cpu().numpy() for a in found])
        for here, there in zip(*seen, strict=True):
            assert here.dtype == there.dtype and here.shape == there.shape
            np.testing.assert_allclose(there, here, rtol=1e-4, atol=1e-5)


for lie in (lambda x: x, turned, last):
    for size in ((2, 3, 8, 8), (1, 4, 7, 9)):
        for k, stride, padding, ceil in ((2, 2, 0, False), (3, 1, 1, True), (3, 2, 1, False)):
            window = (k, stride, padding)
            beside(lambda x: F.max_pool2d(x, *window, 1, ceil, return_indices=True), lie(drawn(*size)))
            beside(lambda x: F.avg_pool2d(x, *window, ceil), lie(drawn(*size)))
            beside(lambda x: F.avg_pool2d(x, *window, ceil, False, 5), lie(drawn(*size)))
    for weight in ((), (drawn(6), drawn(6))):
        beside(lambda x, *given: F.group_norm(x, 3, *given), lie(drawn(2, 6, 4, 4)), *weight)
    for mode in ("bilinear", "nearest"):
        for edge in ("zeros", "border"):
            beside(lambda x, g: F.grid_sample(x, g, mode, edge, False), lie(drawn(2, 3, 5, 6)), drawn(2, 4, 5, 2) * 0.7)

beside(lambda x: F.max_pool3d(x, 2, return_indices=True), drawn(2, 3, 6, 6, 6))
beside(lambda x: F.max_pool2d(x, 3, 2), drawn(1, 1, 130, 130))  # more than fits into a block


def written(x: rl.Tensor, *given: Any, add: bool = False) -> rl.Tensor:
    *indices, values = given
    return x.clone().index_put_(tuple(indices), values, accumulate=add)


for lie in (lambda x: x, turned):
    x = lie(drawn(6, 5, 4))
    beside(lambda x, i: x[i], x, picked(6, 4))
    beside(lambda x, i: x[i], x, picked(6, 8)[::2])
    beside(lambda x, i: x[:, i], x, picked(5, 2, 3))
    beside(written, x, rl.tensor([4, 0, 2]), drawn(3, 5, 4))
    beside(lambda x, i: written(x, i, x[:3]), x, rl.tensor([4, 0, 2]))
    beside(lambda x, i, v: written(x, i, v, add=True), x, picked(6, 5), drawn(5, 5, 4))
x = drawn(6, 5, 4)
beside(lambda x, i, j: x[i, j], x, picked(6, 4), picked(5, 4))
beside(lambda x, i, j: x[:, i, j], x, picked(5, 4), picked(4, 4))
beside(written, x, rl.tensor([4, 0, 2]), rl.tensor([1, 1, 3]), drawn(3, 4))
beside(lambda x, i, j, v: written(x, i, j, v, add=True), x, picked(6, 6), picked(5, 6), drawn(6, 4))
two = [rl.tensor(at).cuda()._a for at in ([4, 0], [1, 3])]
for _ in range(2):  # what the launch for one index refuses, that for two of them does, too
    refused = index_put_into(x.cuda()._a, drawn(2, 4).double().cuda()._a, *two, slots=(1, 1), accumulate=False)
    assert refused is NotImplemented
beside(lambda a, b: rl.searchsorted(a, b, right=True), drawn(3, 20).sort(-1)[0], drawn(3, 5))
beside(lambda x: x.repeat(2, 1, 3), drawn(3, 4))
beside(lambda x: x.repeat(2, 3), turned(drawn(4, 3)))

WINDOWS = (  # size, kernel, stride, padding, dilation
    ((17,), 5, 2, 2, 2), ((13, 14), 7, 1, 3, 1), ((9, 10), 3, 2, 1, 1), ((9, 10), (3, 5), (1, 2), (0, 2), (2, 1)),
    ((5, 6, 7), 3, 1, 1, 1), ((6, 7, 9), (2, 3, 4), (2, 1, 3), (1, 0, 2), (1, 2, 1)), ((9, 9, 9), 7, 1, 3, 1),
)  # fmt: skip
for size, k, *how in WINDOWS:
    conv = (F.conv1d, F.conv2d, F.conv3d)[len(size) - 1]
    sides = k if isinstance(k, tuple) else (k,) * len(size)
    beside(lambda x, w, b: conv(x, w, b, *how, 3), drawn(2, 3, *size), drawn(3, 1, *sides), drawn(3))

for causal in (False, True):
    for n, m, wide in ((8, 8, 16), (40, 24, 20)):
        beside(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
            drawn(1, n, 2, wide).transpose(1, 2), drawn(1, 2, m, wide), drawn(1, 2, m, wide),
        )  # fmt: skip
print("equal")
