"""The small convolutions' CUDA kernels, compiled for the host and run there: cuts, indices, barriers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import rushlight  # noqa: F401 - defines the kernels whose bodies are compared with
from cuda_on_host import kernels, needs_compiler
from rushlight.runtime.cuda.small.conv_sizes import ConvShape
from rushlight.runtime.cuda.small.conv_tiling import Job, cuts, taps_tile, weight_tile
from rushlight.runtime.door import KERNELS as BODIES
from test_cuda_emulated import blank, near, random

pytestmark = needs_compiler

STRIDES = (ctypes.c_int * 4)()  # of dense images: not read
MANY = 4096  # images for which a cut is made that then computes fewer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """run(kernel, constants, grid, threads, *values), compiled for these constants."""

    def go(name, constants, grid, threads, *values):
        kernels(tmp_path_factory.mktemp("emulated"), name, [name], **constants, ASYNC=1)(name, grid, threads, *values)

    return go


class Layer:
    """A convolution, relu and max_pool with all their gradients, by the generic bodies."""

    def __init__(self, n, c, o, kernel, size, stride, padding, window):
        how = {"stride": stride, "padding": padding, "dilation": (1, 1), "groups": 1}
        self.x, self.w, self.b = random(n, c, *size), random(o, c, *kernel), random(o)
        self.window = window
        self.y = BODIES["conv"].generic(np, self.x, self.w, self.b, **how)
        pooled = BODIES["conv_pool"].generic
        self.top, self.places = pooled(np, self.x, self.w, self.b, window=window, relu=True, **how)
        self.g = random(*self.top.shape)
        rest = {"y_shape": self.y.shape, "window": window, **how}
        self.gx = BODIES["conv_pool_grad_input"].generic(np, self.g, self.places, self.w, x_shape=self.x.shape, **rest)
        self.gw, self.gb = BODIES["conv_pool_grads"].generic(
            np, self.g, self.places, self.x, w_shape=self.w.shape, **rest
        )
        whole = tuple([m // k * k for m, k in zip(self.y.shape[2:], window)])
        self.shape = ConvShape(n, c, o, kernel, size, whole, stride, padding, (1, 1), False)
        front = tuple([k - 1 - p for k, p in zip(kernel, padding)])
        self.back = ConvShape(n, o, c, kernel, whole, size, (1, 1), front, stride, True)


LAYERS = {
    "lab": (3, 3, 4, (5, 5), (14, 14), (1, 1), (0, 0), (2, 2)),
    "padded": (2, 2, 5, (3, 3), (11, 9), (1, 1), (1, 1), (2, 3)),
    "stride": (3, 3, 4, (3, 3), (12, 13), (2, 2), (1, 1), (2, 2)),
}


@pytest.fixture(scope="module", params=LAYERS)
def layer(request):
    import rushlight.capture.joined.convs  # noqa: F401, PLC0415 - the joined kernels' bodies

    return Layer(*LAYERS[request.param])


def windows(kh, kw, **more):
    return {"KH": kh, "KW": kw, "POOL": 0, "RELU": 0, **more}


@pytest.mark.parametrize("images", [None, MANY], ids=["few", "many"])
def test_convolution_with_pool(run, layer, images):
    s = layer.shape
    cut = cuts(Job(s._replace(images=images or s.images), layer.window), 1)[0]
    top, places = blank(*layer.top.shape), np.zeros(layer.top.shape, np.uint8)
    constants = windows(*layer.window, FROM=1) | {"POOL": 1, "RELU": 1}
    grid = (1, *cut.grid(1)[1:]) if cut.buffers == 2 else cut.grid(1)
    run(
        "conv_small", {**s.constants(), **cut.constants(), **constants}, grid, cut.threads,
        layer.x, None, layer.w, layer.b, top, places, s.images, STRIDES,
    )  # fmt: skip
    near(top, layer.top)
    assert (places != layer.places).mean() < 0.01  # sums in another order may change a tie


@pytest.mark.parametrize("images", [None, MANY], ids=["few", "many"])
def test_gradient_of_the_input(run, layer, images):
    s = layer.back
    cut = cuts(Job(s._replace(images=images or s.images), source=2), 1)[0]
    gx = blank(*layer.gx.shape)
    grid = (1, *cut.grid(1)[1:]) if cut.buffers == 2 else cut.grid(1)
    run(
        "conv_small", {**s.constants(), **cut.constants(), **windows(*layer.window, FROM=2)}, grid, cut.threads,
        layer.g, layer.places, layer.w, None, gx, None, s.images, STRIDES,
    )  # fmt: skip
    near(gx, layer.gx)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kind", ["taps", "weight"])
def test_gradients_of_weight_and_bias(run, layer, kind, groups):
    s = layer.shape
    tile = taps_tile(s, layer.window) if kind == "taps" else weight_tile(s)
    constants = {k: v for k, v in tile.items() if k.isupper()}
    grid = (tile["pairs"], groups, 1) if kind == "taps" else (groups, tile["YB"], 1)
    gw, gb = blank(*layer.gw.shape), blank(*layer.gb.shape)
    counters = np.zeros(2048, np.uint32)
    run(
        f"conv_small_{kind}", {**s.constants(), **constants, **windows(*layer.window, FROM=2)}, grid, tile["threads"],
        layer.g, layer.places, layer.x, gw, gb, blank(1 << 16), counters, s.images,
    )  # fmt: skip
    near(gw, layer.gw)
    near(gb, layer.gb)
    assert not counters.any()


def test_grids_are_cut_for_the_gpu_at_hand():
    """The device is asked once; before one is opened, plans are those of an H200."""
    from rushlight.runtime.cuda import processors
    from rushlight.runtime.cuda.small.head_sizes import step_cut

    before = processors._gpus.current
    asked = []
    try:
        processors.ask(lambda: 1, lambda index: asked.append(index) or 16)
        assert [processors.multiprocessors() for _ in range(3)] == [16, 16, 16]
        assert asked == [1]
        small = step_cut(256, 128)
        processors._gpus.current = None
        assert processors.multiprocessors() == processors.PLANNED == 132
        assert step_cut(256, 128) != small
    finally:
        processors._gpus.current = before
