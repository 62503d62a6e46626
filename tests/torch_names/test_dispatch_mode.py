"""TorchDispatchMode: inner operators are shown under PyTorch's names, forward and backward, and may be answered."""

from __future__ import annotations

import copy
import importlib

import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


def modes(lib):
    return importlib.import_module(f"{lib.__name__}.utils._python_dispatch")


def flops(lib):
    return importlib.import_module(f"{lib.__name__}.utils.flop_counter")


def names(lib, fn):
    """The operators that a mode sees, and what the program gave."""

    class Log(modes(lib).TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log() as log:
        out = fn()
    return log.seen, out


def net(lib):
    lib.manual_seed(0)
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 5))


PROGRAMS = {
    "network": lambda lib: (m := net(lib), x := lib.ones(2, 3, 8, 8)) and (lambda: m(x)),
    "without bias": lambda lib: (m := lib.nn.Linear(4, 5, bias=False), x := lib.ones(2, 3, 4)) and (lambda: m(x)),
    "linear of three dims": lambda lib: (m := lib.nn.Linear(4, 5), x := lib.ones(2, 3, 4)) and (lambda: m(x)),
    "arithmetic": lambda lib: (x := lib.ones(3)) is not None and (lambda: (
        x + 1, x * x, x / 3, -x, x**2, 2**x, 1 - x, x - x, x > 0, x == x, x.exp(), x.abs())),
    "reductions": lambda lib: (x := lib.ones(2, 3)) is not None and (lambda: (
        x.sum(), x.sum(1), x.mean(), x.mean(0), x.max(), x.max(1), x.softmax(-1), x.log_softmax(0), x.var(), x.argmax(1))),
    "views": lambda lib: (x := lib.ones(2, 3, 4)) is not None and (lambda: (
        x.view(2, -1), x.permute(0, 2, 1), x[0], x[:, 1:2], x.transpose(1, 2), lib.cat([x, x]), lib.stack([x, x]),
        x.unsqueeze(0), x.expand(2, 2, 3, 4), x.split(1))),
    "in place": lambda lib: (x := lib.ones(3), y := lib.ones(3)) and (lambda: (
        x.add_(1), x.mul_(x), x.copy_(y), x.fill_(3.0), x.zero_(), x.relu_())),
    "made": lambda lib: lambda: (lib.zeros(2), lib.ones(2), lib.full((2,), 3.0), lib.randn(2), lib.rand(2), lib.empty(2)),
    "activations": lambda lib: (x := lib.ones(3)) is not None and (lambda: (
        lib.nn.functional.gelu(x), lib.nn.functional.silu(x), x.sigmoid(), x.tanh(), lib.nn.functional.leaky_relu(x),
        lib.nn.functional.pad(x, (1, 1)), lib.where(x > 0, x, x), x.clamp(0, 1), x.to(lib.float64), x.clone())),
    "attention": lambda lib: (x := lib.ones(1, 2, 4, 8)) is not None and (
        lambda: lib.nn.functional.scaled_dot_product_attention(x, x, x)),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_operators_have_pytorchs_names(program) -> None:
    ours, out = names(rushlight, PROGRAMS[program](rushlight))
    theirs, _ = names(torch, PROGRAMS[program](torch))
    # PyTorch detaches what a node keeps of its own result; here a node keeps the memory.
    assert ours == [name for name in theirs if name != "aten.detach.default"]
    assert out is not None


@BOTH
def test_a_backward_pass_is_seen(lib) -> None:
    model, x = net(lib), lib.ones(2, 3, 8, 8)
    seen, _ = names(lib, lambda: model(x).sum().backward())
    assert {"aten.convolution_backward.default", "aten.threshold_backward.default"} <= {*seen}
    assert seen.count("aten.mm.default") == 2 and all(p.grad is not None for p in model.parameters())


@BOTH
def test_numbers_and_gradients_stay(lib) -> None:
    model, x = net(lib), lib.ones(2, 3, 8, 8)
    model(x).square().sum().backward()
    plain = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    names(lib, lambda: model(x).square().sum().backward())
    for p, g in zip(model.parameters(), plain, strict=True):
        assert lib.allclose(p.grad, g, rtol=1e-4, atol=1e-4)


@BOTH
def test_what_a_mode_answers_is_used(lib) -> None:
    class Twice(modes(lib).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            out = func(*args, **(kwargs or {}))
            return out * 2 if func is lib.ops.aten.add.Tensor else out

    x = lib.ones(2, requires_grad=True)
    with Twice():
        y = x + 1
    assert y.tolist() == [4.0, 4.0] and y.grad_fn is not None
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]  # below autograd: the gradient is that of the addition


@BOTH
def test_other_arguments_may_be_given(lib) -> None:
    class Wide(modes(lib).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            args = [a.double() if isinstance(a, lib.Tensor) else a for a in args]
            return func(*args, **(kwargs or {}))

    x = lib.ones(2, 2)
    with Wide():
        y = x @ x
    assert y.dtype is lib.float64 and y.tolist() == [[2.0, 2.0], [2.0, 2.0]]


@BOTH
def test_the_innermost_mode_is_asked_first(lib) -> None:
    told = []

    class Named(modes(lib).TorchDispatchMode):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            told.append((self.name, len(modes(lib)._get_current_dispatch_mode_stack())))
            return func(*args, **(kwargs or {}))

    x = lib.ones(2)
    with Named("outer"), Named("inner"):
        x.exp()
    x.exp()
    assert told == [("inner", 1), ("outer", 0)]
    assert modes(lib)._get_current_dispatch_mode() is None


@BOTH
def test_operators_say_who_they_are(lib) -> None:
    op = lib.ops.aten.add.Tensor
    assert str(op) == "aten.add.Tensor" and op.name() == "aten::add.Tensor"
    assert op._overloadpacket is lib.ops.aten.add is op.overloadpacket
    assert str(lib.ops.aten.add) == "aten.add" and op.__name__ == "add.Tensor"
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert (op._schema.name, op._schema.overload_name) == ("aten::add", "Tensor")
    assert copy.deepcopy({op: 1})[op] == 1
    assert lib.ops.aten.mm.default.name() == "aten::mm" and op.namespace == "aten"


def test_flops_are_pytorchs() -> None:
    def counted(lib):
        model, x = net(lib), lib.ones(2, 3, 8, 8)
        q = lib.ones(1, 2, 4, 8, requires_grad=True)
        up = lib.nn.ConvTranspose2d(3, 2, 3, stride=2)
        with flops(lib).FlopCounterMode(display=False) as counter:
            model(x).sum().backward()
            lib.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
            lib.bmm(lib.ones(2, 3, 4), lib.ones(2, 4, 5))
            up(x)
        by_name = {str(op): n for op, n in counter.get_flop_counts()["Global"].items()}
        forward = {str(op): n for op, n in counter.get_flop_counts()["Sequential.0"].items()}
        return counter.get_total_flops(), by_name, forward["aten.convolution"]

    assert counted(rushlight) == counted(torch)


@BOTH
def test_own_formulas(lib) -> None:
    def count(x_shape, *args, out_shape=None, **kwargs):
        return 7 * x_shape.numel()

    mapping = {lib.ops.aten.exp: count}
    with flops(lib).FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        lib.ones(2, 3).exp()
    assert counter.get_total_flops() == 42
