"""The layout pass: convolutions work in channels_last order inside a program, and nobody outside can tell."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.capture.passes.copies import name_new_values
from rushlight.capture.passes.layout import choose_layout, last_strides
from rushlight.capture.passes.norms import join_batch_norms
from rushlight.capture.passes.tidy import drop_dead
from test_capture_passes import compute, for_gpu, names, record

X, Y = torch.randn(2, 3, 4, 8, 8, generator=torch.Generator().manual_seed(0)).double()


class Net(nn.Module):
    """Convolutions with everything between them that follows their order."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1, bias=False)
        self.c = nn.Conv2d(6, 8, 1, stride=2)
        self.norm, self.other = nn.BatchNorm2d(6), nn.BatchNorm2d(8)
        self.end = nn.Linear(8, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.a(x)))
        x = F.max_pool2d(F.relu(self.b(x) + x), 2)
        x = self.other(self.c(x))
        return self.end(F.adaptive_avg_pool2d(F.gelu(x), 1).flatten(1))


def step():
    torch.manual_seed(0)
    net = Net().double()

    def fn(x):
        net.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        return (loss, *[p.grad for p in net.parameters()])

    return net, fn


def turned(program):
    return for_gpu(choose_layout, name_new_values(program), force=True)


def test_a_training_step_computes_the_same():
    net, fn = step()
    fn(X)
    program = turned(record(fn, X))
    convs = [i for i in program.instructions if i.name.startswith("conv")]
    assert len(convs) == 8
    for ins in convs:
        for s in (*ins.inputs[:2], ins.outputs[0]):
            assert all(n == 1 or a == b for n, a, b in zip(s.shape, s.strides, last_strides(s)))
    expected = [t.detach().numpy().copy() for t in fn(Y)]
    for a, b in zip(expected, compute(program, Y)):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_results_keep_their_strides():
    net, fn = step()
    program = record(fn, X)
    for a, b in zip(program.results, turned(program).results):
        assert a.strides == b.strides and a.shape == b.shape


def test_few_copies_between_convolutions():
    net, fn = step()
    fn(X)
    before, after = names(record(fn, X)), names(drop_dead(turned(record(fn, X))))
    # x, the weights and their gradients, but those of 1 x 1, and a gradient that is spread first
    assert after.count("clone") - before.count("clone") <= 6


def test_norms_still_join():
    net, fn = step()
    fn(X)
    program = join_batch_norms(turned(record(fn, X)), force=True)
    assert "batch_norm_relu" in names(program)
    expected = [t.detach().numpy().copy() for t in fn(Y)]
    for a, b in zip(expected, compute(program, Y)):
        np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)


def test_views_of_a_result_see_row_major_memory():
    conv = nn.Conv2d(4, 6, 3).double().requires_grad_(False)

    def fn(x):
        y = conv(x)
        return y.view(3, 6, 36)[:, 1:] * 2, y.permute(1, 0, 2, 3)[0] + 1, y

    program = turned(record(fn, X))
    for a, b in zip(fn(Y), compute(program, Y)):
        np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-12)


def test_pools_follow_and_their_places_are_handed_out_in_order():
    conv = nn.Conv2d(4, 6, 3).double().requires_grad_(False)

    def fn(x):
        y, places = F.max_pool2d(conv(x), 3, 2, return_indices=True)
        return y * 2, places, F.avg_pool2d(conv(x), 2) + 1

    program = turned(record(fn, X))
    pools = [i for i in program.instructions if i.name in ("max_pool", "avg_pool")]
    assert len(pools) == 2 and not any(i.inputs[0].dense for i in pools)
    for a, b in zip(fn(Y), compute(program, Y)):
        np.testing.assert_allclose(b, a.numpy(), rtol=1e-12)


def test_single_places_tell_no_order():
    """Images of 1 x 1 lie alike in both orders, so a kernel cannot follow them."""
    a = nn.Conv2d(4, 6, 8).double()
    b = nn.ConvTranspose2d(6, 4, 3).double()

    def fn(x):
        a.zero_grad(), b.zero_grad()
        loss = b(a(x)).square().mean()
        loss.backward()
        return (loss, a.weight.grad, b.weight.grad)

    fn(X)
    program = turned(record(fn, X))
    for ins in program.instructions:
        if ins.name in ("conv", "conv_grad_input") and ins.inputs[0].shape[2:] == (1, 1):
            assert ins.outputs[0].dense
    expected = [t.detach().numpy().copy() for t in fn(Y)]
    for x, y in zip(expected, compute(program, Y)):
        np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-12)


def test_a_weight_that_changes_is_copied_anew():
    w = torch.randn(5, 4, 3, 3).double()

    def fn(x):
        a = F.conv2d(x, w)
        w.mul_(2)
        b = F.conv2d(x, w)
        w.mul_(0.5)
        return a, b

    program = turned(record(fn, X))
    for a, b in zip(fn(Y), compute(program, Y)):
        np.testing.assert_allclose(b, a.numpy(), rtol=1e-12)


def test_operands_with_gaps_keep_their_order():
    conv = nn.Conv2d(4, 4, 3, padding=1).double().requires_grad_(False)

    def fn(x):
        return (x[:, :, :, ::2] + conv(x)[:, :, :, ::2] * 2, x.transpose(2, 3) + conv(x))

    program = turned(record(fn, X))
    for a, b in zip(fn(Y), compute(program, Y)):
        np.testing.assert_allclose(b, a.detach().numpy(), rtol=1e-12)


def test_programs_without_large_convolutions_are_left_alone():
    net, fn = step()
    program = record(fn, X)
    assert choose_layout(program) is program
    program.device = "cuda"
    assert choose_layout(program) is program  # float64, and few channels


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_step_on_the_gpu_equals_the_eager_one(dtype):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 5),
    ).cuda()  # fmt: skip
    nets, steps = [net, copy.deepcopy(net)], []
    for n in nets:
        opt = torch.optim.SGD(n.parameters(), lr=0.05, momentum=0.9)

        def step(x, t, n=n, opt=opt):
            opt.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bfloat16"):
                loss = F.cross_entropy(n(x), t)
            loss.backward()
            opt.step()
            return loss

        steps.append(step)
    compiled = torch.compile(steps[1])
    for _ in range(6):
        x, t = torch.randn(64, 3, 32, 32).cuda(), torch.randint(0, 5, (64,)).cuda()
        np.testing.assert_allclose(
            compiled(x, t).item(), steps[0](x, t).item(), rtol=3e-2 if dtype == "bfloat16" else 5e-3
        )
    assert compiled.replays, compiled.why()
    assert "layout" in dict(compiled.replays[-1].program.history)
    for p, q in zip(nets[0].parameters(), nets[1].parameters()):
        assert p.stride() == q.stride() and p.grad.stride() == q.grad.stride()
        np.testing.assert_allclose(q.detach().cpu().numpy(), p.detach().cpu().numpy(), rtol=3e-2, atol=3e-2)
