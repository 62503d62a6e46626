"""Passes around batch norm: in-place writes become values, batch norm takes the add and the relu behind it."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.capture.joined import norms  # noqa: F401 - makes the kernels
from rushlight.capture.joined.proof import PARTS, agrees
from rushlight.capture.passes.copies import name_new_values
from rushlight.capture.passes.norms import join_batch_norms
from rushlight.capture.passes.tidy import drop_dead
from rushlight.core.tensor import wrap
from rushlight.runtime.door import KERNELS, run
from test_capture_passes import X, Y, check, compute, names, record

# -- in-place writes ------------------------------------------------------------------------------


def test_a_chain_of_writes_becomes_a_chain_of_values():
    def fn(x):
        y = x * 2
        y.relu_()
        y.add_(1)
        return y * 3

    program = name_new_values(record(fn, X))
    assert names(program) == ["mul", "relu", "add", "mul"]
    check(fn, program, Y)


def test_old_values_stay_for_those_who_read_them_before():
    def fn(x):
        y = x * 2
        before = y + 1
        y.relu_()
        return before - y, y

    program = name_new_values(record(fn, X))
    assert "copy_into" not in names(program)
    check(fn, program, Y)


def test_a_write_seen_through_an_older_view_stays():
    def fn(x):
        y = x * 2
        row = y[0]
        y.relu_()
        return row + 1

    program = name_new_values(record(fn, X))
    assert "copy_into" in names(program)
    check(fn, program, Y)


def test_a_view_made_afterwards_sees_the_new_values():
    def fn(x):
        y = x * 2
        y.relu_()
        return y[0] + y.t()[1, 0]

    program = name_new_values(record(fn, X))
    assert "copy_into" not in names(program)
    check(fn, program, Y)


def test_a_write_into_a_part_afterwards_keeps_the_copy():
    def fn(x):
        y = x * 2
        z = y.relu()
        y.copy_(z)
        y[0] = 7.0
        return y + z

    program = name_new_values(record(fn, X))
    check(fn, program, Y)


def test_two_results_do_not_share_memory():
    def fn(x):
        y = x * 2
        z = y.relu()
        y.copy_(z)
        return y, z

    program = name_new_values(record(fn, X))
    check(fn, program, Y)
    a, b = program.results
    assert a.storage is not b.storage


def test_writes_into_what_lasts_stay():
    box = [torch.zeros(3, 4)]

    def fn(x):
        box[0].copy_(x.relu())
        return x + 1

    assert "copy_into" in names(name_new_values(record(fn, X)))


# -- batch norm and its neighbours ----------------------------------------------------------------


class Block(nn.Module):
    """Two batch norms with relu, the second with a shortcut; as in a residual network."""

    def __init__(self, c: int, inplace: bool, shortcut: bool) -> None:
        super().__init__()
        self.a, self.b = nn.BatchNorm2d(c), nn.BatchNorm2d(c)
        self.c = nn.BatchNorm2d(c) if shortcut else None
        self.relu = nn.ReLU(inplace=inplace)

    def forward(self, x):
        out = self.b(self.relu(self.a(x * 1.5)) * 0.5)
        out += x if self.c is None else self.c(x * 2)
        return self.relu(out)


def training(inplace, shortcut, channels=4):
    torch.manual_seed(0)
    blocks = [Block(channels, inplace, shortcut) for _ in range(2)]
    net = nn.Sequential(*blocks).double()

    def fn(x):
        net.zero_grad()
        x = x * 1.0
        x.requires_grad_()
        y = net(x)
        (y * y).sum().backward()
        return (y, x.grad, *[p.grad for p in net.parameters()])

    return net, fn


@pytest.mark.parametrize("shortcut", [False, True])
@pytest.mark.parametrize("inplace", [False, True])
def test_norms_join_forward_and_backward(inplace, shortcut):
    net, fn = training(inplace, shortcut)
    x, other = torch.randn(5, 4, 3, 3).double(), torch.randn(5, 4, 3, 3).double()
    fn(x)
    program = record(fn, x)
    joined = drop_dead(join_batch_norms(name_new_values(program), force=True))
    found = names(joined)
    assert found.count("batch_norm_relu") == found.count("batch_norm_relu_grad") == 2
    assert found.count("batch_norm_add_relu") == found.count("batch_norm_add_relu_grad") == 2
    assert "relu" not in found and "relu_grad" not in found
    assert found.count("running_statistics") == 4 + 2 * shortcut
    twin = copy.deepcopy(net)
    expected = [t.detach().numpy().copy() for t in fn(other)]
    seen = [b.numpy().copy() for b in net.buffers()]
    for mine, theirs in zip(net.buffers(), twin.buffers()):
        with torch.no_grad():
            mine.copy_(theirs)
    for a, b in zip(expected, compute(joined, other)):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9)
    for a, b in zip(seen, net.buffers()):
        np.testing.assert_allclose(b.numpy(), a, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", [n for n in PARTS if n.startswith("batch_norm_")])
def test_the_trial_tells_right_kernels_from_wrong_ones(name, dtype, monkeypatch):
    kind = getattr(torch, dtype)
    torch.manual_seed(0)
    x, other, g, more, y = [torch.randn(4, 6, 5, 5).to(kind).numpy() for _ in range(5)]
    weight, bias, mean, invstd = [torch.rand(6).numpy() + 0.5 for _ in range(4)]
    arrays = {
        "batch_norm_eval_relu": [x, weight, bias, mean, invstd],
        "batch_norm_eval_add_relu": [x, weight, bias, mean, invstd, other],
        "batch_norm_relu": [x, weight, bias],
        "batch_norm_add_relu": [x, weight, bias, other],
        "batch_norm_relu_grad": [g, x, weight, bias, mean, invstd],
        "batch_norm_add_relu_grad": [g, more, y, x, weight, mean, invstd],
    }[name]
    assert agrees(name, arrays, {"eps": 1e-5})
    if "add_relu_grad" in name:
        assert agrees(name, [g, None, *arrays[2:]], {"eps": 1e-5})
    kernel = KERNELS[name]
    right = kernel.generic

    def wrong(xp, *given, **attrs):
        out = right(xp, *given, **attrs)
        first, *rest = out if isinstance(out, tuple) else (out,)
        worse = first + first.dtype.type(0.5)
        return (worse, *rest) if isinstance(out, tuple) else worse

    monkeypatch.setattr(kernel, "generic", wrong)
    kernel.impls.clear()
    assert not agrees(name, arrays, {"eps": 1e-5})
    kernel.impls.clear()


def test_a_value_used_elsewhere_is_not_swallowed():
    norm = nn.BatchNorm2d(4)

    def fn(x):
        y = norm(x)
        return y.relu(), y * 2

    program = join_batch_norms(record(fn, torch.randn(2, 4, 3, 3)), force=True)
    assert "batch_norm_train" in names(program)


def test_a_summand_that_changes_before_relu_is_read_before_it_does():
    norm = nn.BatchNorm2d(4).requires_grad_(False)

    def fn(x):
        other = x * 2
        y = norm(x) + other
        other.mul_(3)
        return y.relu() + other

    x = torch.randn(2, 4, 3, 3)
    program = join_batch_norms(record(fn, x), force=True)
    found = names(program)
    assert found.index("batch_norm_add_relu") < len(found) - 1 - found[::-1].index("copy_into")
    check(fn, program, torch.randn(2, 4, 3, 3), rtol=1e-5)


def test_a_bias_may_change_before_a_later_backward():
    """Then the sign of the output is read, not found again."""
    norm = nn.BatchNorm2d(4)
    program = record(lambda x: norm(x).relu(), torch.randn(2, 4, 3, 3))
    if program.hand_over is None:
        pytest.skip("this recording has no second half")
    assert "batch_norm_relu_grad" not in names(join_batch_norms(program, force=True))


@pytest.mark.parametrize("shortcut", [False, True])
def test_evaluation_joins_too(shortcut):
    net = nn.Sequential(*[Block(4, True, shortcut) for _ in range(2)]).double().eval()
    for t in net.buffers():
        if t.dtype.is_floating_point:
            t.copy_(torch.rand(4).double() + 0.5)
    net.requires_grad_(False)
    x, other = torch.randn(5, 4, 3, 3).double(), torch.randn(5, 4, 3, 3).double()
    program = join_batch_norms(name_new_values(record(net, x)), force=True)
    found = names(program)
    assert found.count("batch_norm_eval_relu") == found.count("batch_norm_eval_add_relu") == 2
    assert "relu" not in found
    check(net, program, other, rtol=1e-10)


def test_programs_of_the_cpu_are_left_alone():
    net, fn = training(False, False)
    program = record(fn, torch.randn(5, 4, 3, 3).double())
    assert join_batch_norms(program) is program


# -- the kernels on a GPU -------------------------------------------------------------------------

CASES = [
    (shape, last)
    for shape in [(4, 64, 9, 7), (2, 24, 5, 5), (3, 7, 3, 3), (128, 512, 2, 2), (16, 130), (2, 8, 40)]
    for last in (False, True)
    if len(shape) == 4 or not last
]


def arrays(rng, shape, last, dtype, count):
    import cupy

    found = []
    for _ in range(count):
        a = torch.tensor(rng.standard_normal(shape)).to(dtype).cuda()
        a = a.contiguous(memory_format=torch.channels_last) if last else a
        assert isinstance(a._a, cupy.ndarray)
        found.append(a._a)
    return found


def wide(a):
    return a if a is None else wrap(a).double().cpu().numpy()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("shape, last", CASES)
def test_joined_cuda_kernels_equal_their_parts(shape, last, dtype, affine):
    rng = np.random.default_rng(0)
    kind = getattr(torch, dtype)
    x, other, g, more, y = arrays(rng, shape, last, kind, 5)
    stats = torch.float64 if dtype == "float64" else torch.float32
    weight, bias, mean, invstd = arrays(rng, shape[1:2], False, stats, 4)
    if not affine:
        weight = bias = None
    tol = {"float32": 2e-5, "float64": 1e-10, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
    calls = {
        "batch_norm_eval_relu": (x, weight, bias, mean, invstd * invstd),
        "batch_norm_eval_add_relu": (x, weight, bias, mean, invstd * invstd, other),
        "batch_norm_relu": (x, weight, bias),
        "batch_norm_add_relu": (x, weight, bias, other),
        "batch_norm_relu_grad": (g, x, weight, bias, mean, invstd),
        "batch_norm_add_relu_grad": (g, more, y, x, weight, mean, invstd),
    }
    for name, given in calls.items():
        kernel = KERNELS[name]
        out = run(kernel, type(x), given, {"eps": 1e-5})
        expected = kernel.generic(np, *[wide(a) for a in given], eps=1e-5)
        if not isinstance(out, tuple):
            out, expected = (out,), (expected,)
        for a, b in zip(out, expected):
            scale = max(np.abs(b).max(), 1e-3)
            bad = np.abs(wide(a) - b) > tol * scale
            assert bad.sum() <= bad.size // 1000, (name, np.abs(wide(a) - b).max(), scale)
        assert out[0].strides == x.strides


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("inplace", [False, True])
def test_a_residual_step_on_the_gpu_equals_the_eager_one(inplace, last):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), Block(16, inplace, False), Block(16, inplace, True),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5),
    ).cuda()  # fmt: skip
    order = torch.channels_last if last else torch.contiguous_format
    nets = [net.to(memory_format=order), copy.deepcopy(net).to(memory_format=order)]
    steps = []
    for n in nets:
        opt = torch.optim.SGD(n.parameters(), lr=0.05, momentum=0.9)

        def step(x, t, n=n, opt=opt):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(n(x), t)
            loss.backward()
            opt.step()
            return loss

        steps.append(step)
    compiled = torch.compile(steps[1])
    for _ in range(6):
        x = torch.randn(8, 3, 12, 12).cuda().contiguous(memory_format=order)
        t = torch.randint(0, 5, (8,)).cuda()
        a, b = steps[0](x, t), compiled(x, t)
        np.testing.assert_allclose(b.item(), a.item(), rtol=1e-3)
    assert compiled.replays, compiled.why()
    for p, q in zip(nets[0].state_dict().values(), nets[1].state_dict().values()):
        np.testing.assert_allclose(q.float().cpu().numpy(), p.float().cpu().numpy(), rtol=2e-3, atol=2e-3)
