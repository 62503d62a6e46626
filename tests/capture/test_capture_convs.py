"""Convolutions with the max_pool behind them, joined by a pass: what joins, what must not, and the values."""

from __future__ import annotations

import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight.capture.passes.copies import drop_copies
from rushlight.capture.passes.epilogues import join_conv_grads
from rushlight.capture.passes.few import join_conv_pools, pool_before_relu, sum_before_spreading
from rushlight.capture.passes.tidy import drop_dead, merge_common
from test_capture_passes import check, names, record

JOINED = {"conv_pool", "conv_pool_grad_input", "conv_pool_grads"}
PARTS = {"conv", "max_pool", "relu", "relu_grad", "max_pool_grad", "conv_grad_input", "conv_grad_weight"}


def joined(fn, *args):
    """The program of a call as it would be on a GPU, to be run on the CPU."""
    program = record(fn, *args)
    for run in (merge_common, drop_copies, drop_dead, pool_before_relu, sum_before_spreading):
        program = run(program)
    program.device = "cuda"
    program = join_conv_grads(join_conv_pools(program))
    program.device = "cpu"
    return program


def layer(x, w, b, pool=2, relu="before", **how):
    y = F.conv2d(x, w, b, **how)
    if relu == "before":
        return F.max_pool2d(y.relu(), pool)
    y = F.max_pool2d(y, pool)
    return y.relu() if relu == "after" else y


def with_gradients(fn):
    """A function that also answers the gradients of all its arguments."""

    def run(*args):
        args = [a.detach().requires_grad_() for a in args]
        y = fn(*args)
        return y.detach(), *torch.autograd.grad((y * y).sum(), args)

    return run


@pytest.mark.parametrize("relu", ["before", "after", "none"])
@pytest.mark.parametrize(
    ("size", "pool", "how"),
    [
        ((12, 12), 2, {}),
        ((11, 14), (2, 3), {"padding": 1}),
        ((13, 12), 2, {"stride": 2, "padding": 2}),
        ((9, 9), 3, {}),
    ],
    ids=["plain", "rest", "stride", "3x3"],
)
def test_conv_and_pool_are_one_kernel(size, pool, how, relu):
    args = torch.randn(3, 2, *size), torch.randn(5, 2, 3, 3), torch.randn(5)
    fn = with_gradients(lambda x, w, b: layer(x, w, b, pool, relu, **how))
    program = joined(fn, *args)
    assert set(names(program)) >= JOINED
    assert not set(names(program)) & PARTS
    check(fn, program, *[torch.randn(*a.shape) for a in args], rtol=2e-4)


def test_two_layers_join_and_the_first_needs_no_gradient_of_its_input():
    def fn(x, w, b, v, c):
        leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        y = layer(layer(x, w, b), v, c)
        return y.detach(), *torch.autograd.grad((y * y).sum(), leaves)

    args = [torch.randn(2, 1, 20, 20), torch.randn(4, 1, 3, 3), torch.randn(4), torch.randn(6, 4, 3, 3) / 4,
            torch.randn(6)]  # fmt: skip
    program = joined(fn, *args)
    found = names(program)
    assert found.count("conv_pool") == 2
    assert found.count("conv_pool_grads") == 2
    assert found.count("conv_pool_grad_input") == 1
    assert not set(found) & PARTS
    check(fn, program, *args, rtol=2e-4)


def test_inference_joins_too():
    args = torch.randn(3, 2, 8, 8), torch.randn(5, 2, 3, 3), torch.randn(5)
    program = joined(layer, *args)
    assert names(program) == ["conv_pool"]
    check(layer, program, *args, rtol=1e-5)


def test_nan_and_equal_numbers_keep_their_places():
    x = torch.zeros(1, 1, 8, 8)
    x[0, 0, 3, 3] = float("nan")
    args = x, torch.ones(2, 1, 3, 3), torch.tensor([0.0, 1.0])
    fn = with_gradients(layer)
    check(fn, joined(fn, *args), *args, rtol=1e-6)


SEEN = {
    "the convolution's own result": lambda x, w, b: (lambda y: F.max_pool2d(y.relu(), 2).sum() + y.sum())(
        F.conv2d(x, w, b)
    ),
    "places": lambda x, w, b: torch.stack([t.float() for t in F.max_pool2d(F.conv2d(x, w, b), 2, return_indices=True)]),
    "windows that overlap": lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b), 3, 2),
    "windows with an edge": lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b), 2, padding=1),
    "windows cut off": lambda x, w, b: F.max_pool2d(F.conv2d(x, w, b, padding=(0, 2)), 4, ceil_mode=True),
}


@pytest.mark.parametrize("what", SEEN)
def test_what_others_see_stays(what):
    args = torch.randn(3, 2, 8, 8), torch.randn(5, 2, 3, 3), torch.randn(5)
    program = joined(SEEN[what], *args)
    assert not JOINED & set(names(program))
    check(SEEN[what], program, *args, rtol=1e-5)


def test_large_convolutions_stay_with_the_library():
    args = torch.randn(32, 64, 28, 28), torch.randn(64, 64, 3, 3), torch.randn(64)
    assert not JOINED & set(names(joined(layer, *args)))


def test_a_pooled_gradient_that_others_read_stays():
    def fn(x, w, b):
        w = w.detach().requires_grad_()
        y = F.conv2d(x, w, b)
        y.retain_grad()
        F.max_pool2d(y.relu(), 2).pow(2).sum().backward()
        return y.grad, w.grad

    args = torch.randn(3, 2, 8, 8), torch.randn(5, 2, 3, 3), torch.randn(5)
    program = joined(fn, *args)
    assert not {"conv_pool_grads", "conv_pool_grad_input"} & set(names(program))
    check(fn, program, *args, rtol=1e-5)


def test_weight_and_bias_gradients_of_a_plain_convolution_join():
    args = torch.randn(3, 2, 8, 8), torch.randn(5, 2, 3, 3), torch.randn(5)
    fn = with_gradients(lambda x, w, b: F.conv2d(x, w, b))
    program = joined(fn, *args)
    assert "conv_grads" in names(program)
    assert not {"conv_grad_weight"} & set(names(program))
    check(fn, program, *args, rtol=2e-4)


def test_on_the_cpu_nothing_joins():
    args = torch.randn(3, 2, 8, 8), torch.randn(5, 2, 3, 3), torch.randn(5)
    program = record(layer, *args)
    assert join_conv_grads(join_conv_pools(program)) is program
