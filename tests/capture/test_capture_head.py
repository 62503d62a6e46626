"""A classifier's head in captured programs: which are joined, what they compute, on a GPU as eager steps do."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from rushlight.capture.passes import optimise
from rushlight.capture.record.recording import Recording
from test_capture_passes import check, names, record

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def step(x, t, w, b, v, c, **how):
    """Loss and gradients of two layers."""
    leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
    w, b, v, c = leaves
    loss = F.cross_entropy(F.linear(F.linear(x, w, b).relu(), v, c), t, **how)
    return loss.detach(), *torch.autograd.grad(loss, leaves)


def arrays(rows, classes=5, width=12, dtype=torch.float32):
    shapes = (rows, 20), (width, 20), (width,), (classes, width), (classes,)
    x, *weights = [torch.randn(*shape, dtype=dtype) / 3 for shape in shapes]
    return [x, torch.randint(0, classes, (rows,)), *weights]


def joined(fn, args):
    """The program as it would be for a GPU, to be run on the CPU."""
    program = record(fn, *args)
    program.device = "cuda"
    program = optimise(program)
    program.device = "cpu"
    return program


def kernels(program):
    return [ins.name for ins in program.instructions if not ins.is_view]


@pytest.mark.parametrize("how", [{}, {"reduction": "sum"}, {"ignore_index": 3}], ids=str)
@pytest.mark.parametrize("rows", [4, 100])
def test_heads_are_one_kernel(rows, how):
    def fn(*args):
        return step(*args, **how)

    args = arrays(rows)
    program = joined(fn, args)
    head = ["head_whole"] if rows <= 16 else ["head_step", "linear_grads"]
    assert kernels(program) == ["linear_relu", *head, "linear_grads"]
    assert "classifier's head" in [name for name, _ in program.history]
    check(fn, program, *args, rtol=2e-3)
    check(fn, program, *arrays(rows), rtol=2e-3)


def test_scaled_losses_are_joined():
    """The gradient of the loss is a product that comes behind it."""

    def fn(x, t, w, b, v, c, scale):
        leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        loss = F.cross_entropy(F.linear(F.linear(x, w, b).relu(), v, c), t)
        return loss.detach(), *torch.autograd.grad(loss * scale, leaves)

    args = [*arrays(40), torch.tensor(1024.0)]
    program = joined(fn, args)
    assert kernels(program) == ["linear_relu", "mul", "head_step", "linear_grads", "linear_grads"]
    check(fn, program, *arrays(40), torch.tensor(0.5), rtol=2e-3)


def test_scaled_losses_that_are_seen_before_their_gradient_stay():
    def fn(x, t, w, b, v, c, scale):
        leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        loss = F.cross_entropy(F.linear(F.linear(x, w, b).relu(), v, c), t)
        scaled = loss * scale
        return scaled.detach(), *torch.autograd.grad(scaled * loss.detach(), leaves)

    args = [*arrays(40), torch.tensor(1024.0)]
    program = joined(fn, args)
    assert "cross_entropy_fused" in names(program)
    check(fn, program, *arrays(40), torch.tensor(0.5), rtol=2e-3)


def test_wide_heads_of_few_rows_keep_the_weight_apart():
    """One block would read a large weight alone."""
    args = arrays(4, width=600)
    program = joined(step, args)
    assert kernels(program) == ["linear_relu", "head_step", "linear_grads", "linear_grads"]
    check(step, program, *args, rtol=2e-3)


def test_heads_without_a_bias_or_a_relu():
    def fn(x, t, w, b, v, c):
        w, v = w.detach().requires_grad_(), v.detach().requires_grad_()
        loss = F.cross_entropy(F.linear(F.linear(x, w).tanh(), v), t)
        return loss.detach(), *torch.autograd.grad(loss, [w, v])

    args = arrays(40)
    program = joined(fn, args)
    assert "head_step" in names(program)
    head = next(ins for ins in program.instructions if ins.name == "head_step")
    assert head.inputs[2] is None and head.inputs[5] is None
    check(fn, program, *args, rtol=2e-3)


@pytest.mark.parametrize("rows", [4, 40])
def test_logits_that_are_seen_come_along(rows):
    def fn(x, t, w, b, v, c):
        leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        out = F.linear(F.linear(x, w, b).relu(), v, c)
        loss = F.cross_entropy(out, t)
        grads = torch.autograd.grad(loss, leaves)
        return loss.detach(), (out.argmax(1) == t).sum(), out.detach(), *grads

    args = arrays(rows)
    program = joined(fn, args)
    assert {"head_step", "head_whole"} & set(names(program))
    check(fn, program, *args, rtol=2e-3)


def test_logits_that_are_used_before_the_loss_stay():
    def fn(x, t, w, b, v, c):
        leaves = [p.detach().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        out = F.linear(F.linear(x, w, b).relu(), v, c)
        right = (out.argmax(1) == t).sum()
        loss = F.cross_entropy(out, t)
        return loss.detach(), right, *torch.autograd.grad(loss, leaves)

    program = joined(fn, arrays(40))
    assert "cross_entropy_step" in names(program) and "head_step" not in names(program)
    check(fn, program, *arrays(40), rtol=2e-3)


@pytest.mark.parametrize(
    "args",
    [arrays(40, classes=17), arrays(40, width=10), arrays(40, dtype=torch.float64)],
    ids=["classes", "odd width", "float64"],
)
def test_heads_that_do_not_fit_are_left(args):
    program = joined(step, args)
    assert not {"head_step", "head_whole"} & set(names(program))
    check(step, program, *args, rtol=2e-3)


def test_weights_changed_on_the_way_are_left():
    def fn(x, t, w, b, v, c):
        leaves = [p.detach().clone().requires_grad_() for p in (w, b, v, c)]
        w, b, v, c = leaves
        loss = F.cross_entropy(F.linear(F.linear(x, w, b).relu(), v, c), t)
        with torch.no_grad():
            c.add_(1)
        return loss.detach(), c.detach(), torch.autograd.grad(loss, [w, b, v])[0]

    args = arrays(40)
    check(fn, joined(fn, args), *args, rtol=2e-3)


def test_gradients_of_a_later_backward_wait_for_it():
    """What the loss is multiplied with is not known before the call ends."""
    net = nn.Sequential(nn.Linear(20, 12), nn.ReLU(), nn.Linear(12, 8))
    args = torch.randn(4, 20), torch.randint(0, 8, (4,))
    recording = Recording(lambda x, t: F.cross_entropy(net(x), t), args, {})
    recording.call()
    recording.analyse()
    recording.program.device = "cuda"
    found = names(optimise(recording.program))
    assert found.index("cross_entropy_fused") < found.index("hand_over")
    assert found.index("hand_over") < found.index("cross_entropy_grad")


# -- on a GPU ------------------------------------------------------------------------------------------


def both(net, **how):
    """The same training step twice, eager and compiled, with their networks."""
    nets = [net, copy.deepcopy(net)]
    steps = []
    for n in nets:
        opt = torch.optim.SGD(n.parameters(), lr=0.05)

        def train(x, t, n=n, opt=opt):
            opt.zero_grad()
            out = n(x)
            loss = F.cross_entropy(out, t, **how)
            loss.backward()
            opt.step()
            return loss, out

        steps.append(train)
    return nets, steps[0], torch.compile(steps[1])


def near(a, b, tol=1e-4):
    x, y = a.detach().float().cpu().numpy(), b.detach().float().cpu().numpy()
    np.testing.assert_allclose(y, x, rtol=tol, atol=tol)


@GPU
@pytest.mark.parametrize("how", [{}, {"reduction": "sum"}, {"ignore_index": 3}], ids=str)
@pytest.mark.parametrize(
    ("rows", "width", "classes"),
    [(4, 84, 10), (16, 84, 10), (13, 260, 16), (5, 1000, 10), (100, 1000, 10), (64, 84, 1),
     (512, 84, 10), (4096, 84, 10), (777, 512, 7), (300, 2048, 16)],
)  # fmt: skip
def test_compiled_heads_equal_eager_ones(rows, width, classes, how):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, classes)).cuda()
    nets, eager, compiled = both(net, **how)
    for _ in range(6):
        x, t = torch.randn(rows, 32).cuda() / 8, torch.randint(0, classes, (rows,)).cuda()
        for a, b in zip(eager(x, t), compiled(x, t)):
            near(a, b, 1e-3)
        for p, q in zip(nets[0].parameters(), nets[1].parameters()):
            near(p.grad, q.grad, 1e-3)
    assert compiled.replays, compiled.why()


@GPU
def test_a_compiled_loss_takes_any_gradient():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(20, 12), nn.ReLU(), nn.Linear(12, 8)).cuda()
    compiled = torch.compile(lambda x, t: F.cross_entropy(net(x), t))
    for scale in (1.0, 2.0, 3.0, 0.5, 4.0):
        x, t = torch.randn(4, 20).cuda(), torch.randint(0, 8, (4,)).cuda()
        found = []
        for loss_of in (lambda x, t: F.cross_entropy(net(x), t), compiled):
            net.zero_grad()
            (loss_of(x, t) * scale).backward()
            found.append([p.grad.clone() for p in net.parameters()])
        for a, b in zip(*found):
            near(a, b)
