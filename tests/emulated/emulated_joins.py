"""Kernels that passes make, on the emulated GPU beside their parts and NumPy."""

from __future__ import annotations

from typing import Any

import cupy
import emulated_capture
import ml_dtypes
import numpy as np
from emulated_capture import on_gpu

import rushlight as rl
from rushlight.capture.joined import convs, epilogues, norms, sequences  # noqa: F401 - make the kernels
from rushlight.runtime import devices
from rushlight.runtime.door import KERNELS, run

random = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(np.float32)


def compare(name: str, *arrays: Any, **attrs: Any) -> None:
    """A kernel of the GPU beside its generic body."""
    own = devices.overrides("cuda")[name](*[on_gpu(a) for a in arrays], **attrs)
    assert own is not NotImplemented, name
    expected = run(KERNELS[name], np.ndarray, arrays, attrs)
    own, expected = [v if isinstance(v, tuple) else (v,) for v in (own, expected)]
    assert len(own) == len(expected)
    for a, b in zip(own, expected):
        assert a.shape == b.shape and a.dtype == b.dtype, (name, a.shape, b.shape)
        here = emulated_capture.on_host(a)
        here, b = here.astype(np.float32), b.astype(np.float32)
        near = 2e-5 if a.itemsize == 4 else 8e-3
        np.testing.assert_allclose(here, b, rtol=near, atol=near * max(np.abs(b).max(), 1))


def residuals() -> None:
    from rushlight.runtime.cuda.bodies.layers import layer_norm

    # Rows held by a warp (whole packs or not, several turns), by a block, and rows that are read again.
    layer_norm.multiprocessors = lambda: 1  # so that few rows take several turns
    shapes = ((3, 5, 12), 1), ((2, 1100), 1), ((2, 3, 4, 5), 2), ((18, 256), 1), ((1, 9001), 1)
    for shape, dims in shapes:
        sums_and_norms(shape, dims)
    layer_norm._AHEAD = 0  # rows come ahead of their turn, however few
    for shape, dims in (((4, 5, 12), 1), ((3, 1100), 1), ((70, 256), 1)):
        sums_and_norms(shape, dims)


def room_for_parts() -> None:
    """The sums of many rows of float64 stay inside of the scratch memory that all kernels share."""
    from rushlight.runtime.cuda.bodies.layers import layer_norm

    held, layer_norm.PARTIALS = layer_norm.PARTIALS, 128
    room = rl.zeros(2 * layer_norm.PARTIALS, device="cuda")
    own, layer_norm.partials = layer_norm.partials, room.data_ptr
    x, g = [random.standard_normal((60, 24)) for _ in range(2)]
    _, mean, rstd = run(KERNELS["layer_norm"], np.ndarray, (x, None, None), {"dims": 1, "eps": 0.1})
    compare("layer_norm_grad", g, x, None, mean, rstd, dims=1, eps=0.1)
    assert not room[layer_norm.PARTIALS :].any()
    layer_norm.PARTIALS, layer_norm.partials = held, own


def sums_and_norms(shape: tuple[int, ...], dims: int) -> None:
    x, other, g = [floats(*shape) for _ in range(3)]
    w, b = [floats(*shape[-dims:]) for _ in range(2)]
    how = {"dims": dims, "eps": 1e-5}
    compare("add_layer_norm", x, other, w, b, **how)
    compare("add_layer_norm", x, other, None, None, **how)
    compare("add_rms_norm", x, other, w, **how)
    _, mean, rstd = run(KERNELS["layer_norm"], np.ndarray, (x, w, b), how)
    compare("layer_norm_grad_add", g, x, w, mean, rstd, other, **how)
    compare("layer_norm_grad", g, x, w, mean, rstd, **how)
    rstd = run(KERNELS["rms_norm"], np.ndarray, (x, w), how)[1]
    compare("rms_norm_grad_add", g, x, w, rstd, other, **how)
    compare("rms_norm_grad", g, x, w, rstd, **how)


def halves(*shape: int) -> np.ndarray:
    return floats(*shape).astype(ml_dtypes.bfloat16)


def mixed_norms() -> None:
    """bfloat16 beside float32: what comes in, what goes out, and what is read again."""
    from rushlight.runtime.cuda.bodies.layers import layer_norm

    for shape, ahead in (((3, 12), 1 << 62), ((2, 13), 1 << 62), ((20, 12), 0)):
        layer_norm._AHEAD = ahead
        mixed_norms_of(shape)


def mixed_norms_of(shape: tuple[int, ...]) -> None:
    to = rl.bfloat16
    x, more = floats(*shape), floats(*shape)
    w, b = [floats(*shape[-1:]) for _ in range(2)]
    how = {"dims": 1, "eps": 1e-5}
    for other in (None, more, halves(*shape)):
        compare("layer_norm_mixed", x, other, w, b, to=to, **how)
        compare("rms_norm_mixed", x, other, w, to=None, **how)
    statistics = run(KERNELS["layer_norm"], np.ndarray, (x, w, b), how)[1:]
    rstd = run(KERNELS["rms_norm"], np.ndarray, (x, w), how)[1]
    for past in (None, more):
        for also in (False, True):
            g = halves(*shape)
            compare("layer_norm_grad_mixed", g, x, w, *statistics, past, also=also, **how)
            compare("rms_norm_grad_mixed", g, x, None, rstd, past, also=also, **how)
        compare("layer_norm_grad_summed", g, x, w, *statistics, past, **how)
        compare("rms_norm_grad_summed", g, x, None, rstd, past, **how)


def lookups() -> None:
    table, index = floats(7, 6), random.integers(0, 7, (3, 4))
    for other in (floats(3, 4, 6), floats(4, 6), floats(6), floats(1, 4, 6)):
        compare("embedding_add", table, index, other, padding_idx=-1, scale_by_freq=False)


def tied_tables() -> None:
    """The gradient of a table that is a layer's weight, too: rows of no place, of few and of many."""
    index = np.concatenate([random.integers(0, 40, (3, 40)), np.full((2, 40), 7)])
    for width in (8, 5):
        g = floats(5, 40, width)
        for base in (floats(300, width), halves(300, width)):
            for by_count in (False, True):
                how = {"rows": 300, "padding_idx": 3, "scale_by_freq": by_count}
                compare("embedding_grad_add", g, index, base, **how)


def rotations() -> None:
    x, cos, sin = floats(2, 5, 3, 8), floats(5, 8), floats(5, 8)
    turned = x.transpose(0, 2, 1, 3)
    for back in (False, True):
        compare("rotary", turned, cos, sin, back=back, order=(0, 2, 1, 3))
        compare("rotary", np.ascontiguousarray(turned), cos, sin, back=back, order=(0, 1, 2, 3))
        compare("rotary", x[0, :, 0], cos, sin[:1], back=back, order=(0, 1))


def group_norms() -> None:
    for n, groups, per, inner in ((2, 4, 3, (4, 5)), (3, 2, 1, (7,)), (2, 1, 70, (2, 2))):
        c = groups * per
        shape = (n, c, *inner)
        x = floats(n, groups, per * int(np.prod(inner)))
        w, b = [floats(1, c, *[1] * len(inner)) for _ in range(2)]
        compare("group_norm_silu", x, w, b, eps=1e-5, shape=shape)
        _, mean, rstd = run(KERNELS["layer_norm"], np.ndarray, (x, None, None), {"dims": 1, "eps": 1e-5})
        compare("group_norm_silu_grad", floats(*shape), x, w, b, mean, rstd, eps=1e-5, shape=shape)


def column_sums() -> None:
    """gelu's gradient with its sums: whole packs or not, several parts, two blocks of columns."""
    import rushlight.capture.joined.cuda_epilogues  # noqa: F401 - registers it

    for how in ("none", "tanh"):
        for shape in ((3, 7, 264), (40, 13)):
            for make in (floats, halves):
                compare("gelu_grad_sums", make(*shape), make(*shape), approximate=how)


def main() -> None:
    emulated_capture.install()
    assert rl.zeros(1).to("cuda")._a.__class__ is cupy.ndarray
    for check in (room_for_parts, residuals, mixed_norms, lookups, tied_tables, rotations, group_norms, column_sums):
        check()
        print(check.__name__)
    print("equal")


if __name__ == "__main__":
    main()
