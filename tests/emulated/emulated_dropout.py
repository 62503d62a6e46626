"""Dropout on the emulated GPU: what is dropped, what is scaled, and the same again on the way back; draws of a stream."""

from __future__ import annotations

import ctypes

import cupy
import emulated_capture
import numpy as np
from emulated_cupy import Device

import rushlight as rl
from rushlight.nn import functional as F


def write_state(self: object, seed: int, counter: int) -> None:
    state = np.array([seed, counter, 0], np.uint64)
    ctypes.memmove(self._state.data.ptr, state.ctypes.data, state.nbytes)


def on_host(t: rl.Tensor) -> np.ndarray:
    return emulated_capture.on_host(t._a).copy()  # while `t` is alive


def main() -> None:
    emulated_capture.install()
    from rushlight.runtime.cuda.bodies.stream import DrawStream

    cupy.cuda.Device, DrawStream._write = Device, write_state
    rl.manual_seed(3)
    for shape, p in (((7, 301), 0.25), ((5,), 0.5), ((64, 64), 0.1)):
        x = (rl.arange(int(np.prod(shape))).float() + 1).view(shape).to("cuda").requires_grad_()
        y = F.dropout(x, p)
        assert "Dropout" in y.grad_fn.name()
        g = (rl.arange(x.numel()).float().flip(0) + 1).view(shape).to("cuda")
        (gx,) = rl.autograd.grad(y, x, g)
        kept = on_host(y) != 0
        np.testing.assert_allclose(on_host(y)[kept], on_host(x)[kept] / (1 - p), rtol=1e-6)
        np.testing.assert_allclose(on_host(gx)[kept], on_host(g)[kept] / (1 - p), rtol=1e-6)
        assert not on_host(gx)[~kept].any()
        if x.numel() > 1000:
            assert abs(kept.mean() - (1 - p)) < 0.05, kept.mean()
            assert (on_host(F.dropout(x, p)) != 0).tolist() != kept.tolist()
    for draw, mean, spread in (
        (lambda: rl.rand(50, 41, device="cuda"), 0.5, 12**-0.5),
        (lambda: rl.randn(50, 41, device="cuda"), 0.0, 1.0),
        (lambda: rl.empty(50, 41, device="cuda").uniform_(2, 4), 3.0, 3**-0.5),
        (lambda: rl.empty(50, 41, device="cuda").normal_(5, 2), 5.0, 2.0),
    ):
        a, b = on_host(draw()), on_host(draw())
        assert a.shape == (50, 41) and (a == b).mean() < 0.01
        assert abs(a.mean() - mean) < 0.1 * spread and abs(a.std() - spread) < 0.1 * spread
        rl.manual_seed(3)
        c = on_host(draw())
        rl.manual_seed(3)
        np.testing.assert_array_equal(on_host(draw()), c)
    drawn_in_place()
    print("equal")


def drawn_in_place() -> None:
    """Into the tensor's own memory, the numbers that a new one would get; where that cannot be, by way of one."""
    x = rl.zeros(7, 30, device="cuda")
    everywhere = slice(None)
    for at, make in ((everywhere, rl.rand), (slice(2, 4), rl.rand), (5, rl.randn), ((everywhere, 3), rl.rand)):
        part = x if at is everywhere else x[at]
        rl.manual_seed(4)
        wanted = on_host(make(part.shape, device="cuda"))
        rl.manual_seed(4)
        x.zero_()
        version = x._version
        assert (part.uniform_() if make is rl.rand else part.normal_()) is part
        assert x._version == version + 1
        np.testing.assert_array_equal(on_host(x)[at], wanted)
        assert (on_host(x) != 0).sum() <= wanted.size
    y = (x * 2).requires_grad_()
    z = (y * 3).uniform_()
    (gy,) = rl.autograd.grad(z.sum(), y)
    assert z.grad_fn is not None and not on_host(gy).any()
    a = on_host(rl.randint(3, 9, (40, 40), device="cuda"))
    assert set(a.ravel().tolist()) == set(range(3, 9))
    assert on_host(rl.randint(-(2**63), 2**63 - 1, (9,), device="cuda")).std() > 1e18


if __name__ == "__main__":
    main()
