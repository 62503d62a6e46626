"""Pointwise ops of ever other sizes on the emulated GPU: a launch for new sizes is made of one that is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.code import variants

prepared: list[Any] = []
prepare = variants._prepare


def noted(name: Any, operands: tuple, out: Any, to: str | None) -> Any:
    prepared.append((name, [getattr(a, "shape", None) for a in operands]))
    return prepare(name, operands, out, to)


variants._prepare = noted

SIZES: list[tuple[int, ...]] = [(n,) for n in (2, 3, 5, 64, 255, 257, 1023, 1025, 4097)]
SIZES += [(3, 5), (7, 2, 9), (1, 33), (33, 1), (2, 1, 3), (5, 5), (1, 1, 8)]
r = np.random.RandomState(0)


def numbers(shape: tuple[int, ...]) -> Any:
    return rl.from_numpy(np.asarray(r.randn(*shape), "f"))


def alike(x: Any, shape: tuple[int, ...]) -> list[Callable[[Any], Any]]:
    one, many = numbers(()), numbers((1,) * (len(shape) + 1))
    y, m = numbers(shape), numbers(shape) > 0
    return [
        lambda t: t(x) + t(y), lambda t: t(x) * 3.0, lambda t: (t(x) - t(one)).relu(), lambda t: t(x) * t(many),
        lambda t: rl.where(t(m), t(x), t(y)), lambda t: t(x).double(), lambda t: t(x).exp(), lambda t: t(x) > t(y),
        lambda t: t(x).clamp(min=0.0), lambda t: t(x) + t(y).reshape(-1)[0], lambda t: t(one) + t(one),
    ]  # fmt: skip


for shape in SIZES:
    x = numbers(shape)
    for i, run in enumerate(alike(x, shape)):
        for _ in range(2):  # the second call finds the launch of the first
            on_host, on_gpu = run(lambda v: v), run(lambda v: v.to("cuda"))
            assert on_gpu.shape == on_host.shape and on_gpu.dtype == on_host.dtype, (shape, i)
            assert on_gpu.is_contiguous() and on_gpu.data_ptr() % 16 == 0, (shape, i)
            assert rl.allclose(on_gpu.cpu(), on_host, rtol=1e-6, atol=1e-6), (shape, i)
first = len(prepared)
for n in range(300, 340):
    a, b = numbers((n,)).to("cuda"), numbers((n,)).to("cuda")
    assert rl.equal((a + b).cpu(), a.cpu() + b.cpu()) and (a * 2.0).shape == (n,)
assert len(prepared) == first, prepared[first:]
# what does not lie row by row, or not all in one shape, is asked for
a = numbers((6, 4)).to("cuda")
for other in (numbers((4, 6)).to("cuda").T, numbers((4,)).to("cuda"), numbers((6, 1)).to("cuda")):
    assert rl.equal((a + other).cpu(), a.cpu() + other.cpu())
    assert rl.equal((other + a).cpu(), other.cpu() + a.cpu())
turned = numbers((4, 6)).to("cuda").T
assert (turned + turned).stride() == turned.stride()
assert rl.equal((turned + turned).cpu(), turned.cpu() * 2)
whole = numbers((700,)).to("cuda")
for n in range(600, 620):  # memory that is not aligned
    one, other = whole[1 : 1 + n], whole[5 : 5 + n]
    assert rl.equal((one + other).cpu(), one.cpu() + other.cpu())
    assert rl.equal((whole[8 : 8 + n] - one).cpu(), whole[8 : 8 + n].cpu() - one.cpu())
    if n == 600:
        there = len(prepared)
assert len(prepared) == there, prepared[there:]
assert (numbers((0,)).to("cuda") + 1).shape == (0,)
print("equal")
