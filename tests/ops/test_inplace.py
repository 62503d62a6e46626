"""In-place changes and the graph: views, bases, leaves, version counters, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
LIBS = (rl, torch)


def leaf(lib: Any, *shape: int) -> Any:
    n = int(np.prod(shape))
    return (lib.arange(n, dtype=lib.float64).reshape(shape) * 0.1 + 1).requires_grad_()


def close(ours: Any, theirs: Any) -> None:
    assert (ours is None) == (theirs is None)
    if ours is not None:
        assert tuple(ours.shape) == tuple(theirs.shape)
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-11)


# What is differentiated is `y`; `x` and `z` are leaves of (3, 4).
PROGRAMS = """
y = x.clone(); v = y[0]; v.mul_(2)
y = x.clone(); y[1].mul_(z[0])
w = x.clone(); y = w[0]; w.mul_(z)
u = x.clone(); v, w = u[0], u[:, 1]; v.mul_(z[1]); y = w * 2 + v[1]
y = x.clone(); y[1:].t()[0].copy_(z[0, :2])
y = x.clone(); y.t().mul_(z.t())
y = x.clone(); y.view(-1)[2:7].add_(z.view(-1)[:5])
y = x.clone(); y.diagonal().mul_(z[:, 0])
y = x.clone(); y.as_strided((2, 2), (4, 1), 1).mul_(z[:2, :2])
y = lib.empty_strided((3, 4), (1, 3), dtype=lib.float64); y.copy_(x); y.as_strided((2, 3), (3, 1), 2).mul_(z[:2, :3])
y = x.clone(); y.unfold(1, 2, 2)[:, 0].mul_(z[:, :2])
y = lib.zeros(3, 4, dtype=lib.float64); y[1] = x[0] * z[0]; v = y[0]; v.copy_(z[2])
w = lib.ones(3, 4, dtype=lib.float64); w[0].mul_(x[0]); y = w * w
y = x * z; y[0].zero_(); y[1].fill_(3); y[2, 1:3] = z[0, 0]
y = x.clone(); y[y > 1.5] = z[0, 0]
y = x.clone(); v = y[1:]; v[v > 1.7] = z[1, 1] * 2
y = x.clone(); y.pow_(2).mul_(z).div_(x).sin_().exp_()
y = x.clone(); y[0].pow_(3); y[:, 0].mul_(z[:, 1]).tanh_()
y = x.clone(); y.clamp_(1.2, 1.8).abs_().sqrt_()
y = lib.zeros(3, 4, dtype=lib.float32); y.copy_(x)
w = x.clone(); w.copy_(z[0]); y = w * x
w = x * 2; w.zero_(); y = w + z
y = x.clone(); y[0] = y[-1].clone() * z[0]; y[1] = y[0].clone() * z[1]; y[2] = y[1].clone() * z[2]
y = x.clone(); y.unsqueeze_(0).transpose_(1, 2).squeeze_(); y.mul_(z.t())
y = x.clone(); y += z; y[0] -= z[1]; y[:, 1] *= 3; y /= z; y **= 2
""".strip().split("\n")


def made(lib: Any, program: str) -> tuple[Any, Any, Any]:
    names = {"lib": lib, "x": leaf(lib, 3, 4), "z": leaf(lib, 3, 4)}
    exec(program, names)
    return names["y"], names["x"], names["z"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_gradients_agree(program: str) -> None:
    results = []
    for lib in LIBS:
        out, x, z = made(lib, program)
        (out.double() * out.double()).sum().backward()
        results.append((out, x.grad, z.grad))
    for ours, theirs in zip(*results):
        close(ours, theirs)


@pytest.mark.parametrize("program", PROGRAMS)
def test_second_gradients_agree(program: str) -> None:
    results = []
    for lib in LIBS:
        out, x, z = made(lib, program)
        out = out.double()
        first = lib.autograd.grad((out * out * out).sum(), (x, z), create_graph=True, allow_unused=True)
        total = sum((g * g).sum() for g in first if g is not None)
        second = lib.autograd.grad(total, (x, z), allow_unused=True)
        results.append((*first, *second))
    for ours, theirs in zip(*results):
        if ours is None or theirs is None:
            assert all(t is None or not t.detach().numpy().any() for t in (ours, theirs))
        else:
            close(ours, theirs)


CHANGED = "one of the variables needed for gradient computation has been modified by an"
ERRORS = {  # `x` is a leaf of (3,)
    "x.add_(1)": "a leaf Variable that requires grad is being used in an in-place operation.",
    "x[0].add_(1)": "a view of a leaf Variable that requires grad is being used in an in-place",
    "x[0] = 1": "a view of a leaf Variable that requires grad is being used in an in-place",
    "x.unsqueeze_(0)": "a leaf Variable that requires grad is being used in an in-place operation.",
    "y = x.exp(); y.add_(1); y.sum().backward()": CHANGED,
    "y = x * 1; z = y * y; y.add_(1); z.sum().backward()": CHANGED,
    "y = x * 1; z = y[1:] * y[1:]; y[0] = 5; z.sum().backward()": CHANGED,
    "z = x * x; x.detach().zero_(); z.sum().backward()": CHANGED,
    "y = x * 1; y.mul_(y); y.sum().backward()": CHANGED,
    "lib.ones(3).expand(2, 3).add_(1)": "unsupported operation: more than one element of the written-to tensor refers to a",
    "lib.ones(3).add_(lib.ones(2, 3))": "output with shape [3] doesn't match the broadcast shape [2, 3]",
    "lib.ones(3).add_(lib.ones(2))": "The size of tensor a (3) must match the size of tensor b (2) at non-singleton",
    "lib.arange(3).add_(1.5)": "result type Float can't be cast to the desired output type Long",
    "lib.ones(3).copy_(lib.ones(2, 3))": "output with shape [3] doesn't match the broadcast shape [2, 3]",
    "y = x.clone()\nwith lib.no_grad(): v = y[:1]\nv.add_(1)": "A view was created in no_grad mode and is being modified inplace with grad mode",
    "x.clone().split(2)[0].mul_(2)": "Output 0 of Split is a view and is being modified inplace. This view is the output of a",
    "x.clone().chunk(3)[1].mul_(2)": "Output 1 of Split is a view and is being modified inplace. This view is the output of a",
    "[*x.clone()][1].mul_(2)": "Output 1 of Unbind is a view and is being modified inplace. This view is the output of a",
    "x.clone().view(3, 1).unbind()[1][:1].mul_(2)": "Output 0 of Slice is a view and is being modified inplace. This view is the",
    "y = x.clone(); v = y.unbind()[2]; y.mul_(2); v * 2": "Output 2 of Unbind is a view and its base or another view of its base has been modified inplace.",
    "y = lib.ones(3)\nwith lib.no_grad(): v = y[:1]\ny.mul_(x); assert v.requires_grad; v * 2": "A view was created in no_grad mode and its base or another view of its base has been modified inplace with",
    "y = x.clone()\nwith lib.inference_mode(): v = y[:1]\nv.mul_(2)": "A view was created in inference mode and is being modified inplace in normal mode.",
    "class F(lib.autograd.Function):\n  forward = lambda ctx, x: x.view_as(x)\n  backward = lambda ctx, g: g\n"
    "F.apply(x.clone()).mul_(2)": "Output 0 of F is a view and is being modified inplace. This view was created inside a custom Function",
    "class F(lib.autograd.Function):\n  forward = lambda ctx, x: x\n  backward = lambda ctx, g: g\n"
    "y = x.clone(); v = F.apply(y); y.mul_(2); v.grad_fn": "Output 0 of F is a view and its base or another view of its base has been modified inplace.",
    "x.clone().requires_grad_(False)": "you can only change requires_grad flags of leaf variables.",
    "x[0].detach_()": "Can't detach views in-place. Use detach() instead.",
    "y = x.exp().sum(); y.backward(); y.backward()": "Trying to backward through the graph a second time",
    "x.resize_(2)": "cannot resize variables that require grad",
}


@pytest.mark.parametrize("program", ERRORS)
def test_errors_are_pytorchs(program: str) -> None:
    for lib in LIBS:
        with pytest.raises(RuntimeError) as caught:
            exec(program, {"lib": lib, "x": leaf(lib, 3)})
        assert str(caught.value).startswith(ERRORS[program])


def test_the_version_error_says_which() -> None:
    y = leaf(rl, 3).exp()
    y.add_(1)
    words = r"DoubleTensor \[3\]\], which is output 0 of ExpBackward0, is at version 1; expected "
    with pytest.raises(RuntimeError, match=words):
        y.sum().backward()


def test_a_refused_change_changes_nothing() -> None:
    x = leaf(rl, 3)
    before = x.tolist()
    with pytest.raises(RuntimeError):
        x.mul_(2)
    assert x.tolist() == before and x._version == 0


def test_versions_count_as_in_pytorch() -> None:
    counts = []
    for lib in LIBS:
        x = lib.ones(3)
        v, d = x[:2], x.detach()
        seen = [x._version]
        x.add_(1)
        seen.append(v._version)
        v.mul_(2)
        seen.append(d._version)
        d.zero_()
        x[0] = 5
        seen += [x._version, v._version, x.data._version, x.clone()._version]
        counts.append(seen)
    assert counts[0] == counts[1]


def test_no_grad_changes_a_leaf() -> None:
    for lib in LIBS:
        x = leaf(lib, 3)
        with lib.no_grad():
            x.sub_(0.5)
            x[0] = 7
        assert x.requires_grad and x.is_leaf and x.grad_fn is None
        assert x[0].item() == 7


def test_requires_grad_spreads_to_aliases() -> None:
    for lib in LIBS:
        y = lib.zeros(3)
        v, d = y[:2], y.detach()
        y[0] = lib.ones((), requires_grad=True) * 2
        assert y.requires_grad and not y.is_leaf
        assert v.requires_grad and not d.requires_grad


def test_a_view_from_before_the_base_needed_gradients_can_be_written() -> None:
    """PyTorch calls such a view a leaf and refuses; the gradients are well defined."""
    z = leaf(rl, 3)
    y = rl.zeros(2, 3, dtype=rl.float64)
    v = y[0]
    y[1] = z * 2
    v.copy_(z * 3)
    y.sum().backward()
    assert z.grad.tolist() == [5, 5, 5]


def test_data_has_its_own_counter() -> None:
    for lib in LIBS:
        x = leaf(lib, 3)
        y = (x * x).sum()
        x.data.zero_()
        y.backward()  # not noticed, on purpose
        assert x.grad.tolist() == [0, 0, 0]


def test_hooks_before_and_after() -> None:
    seen = []
    for lib in LIBS:
        x = leaf(lib, 3)
        y = x * 2
        got: list = []
        y.register_hook(lambda g, got=got: got.append(g.tolist()))
        y.mul_(3)
        y.register_hook(lambda g, got=got: got.append(g.tolist()))
        y.sum().backward()
        seen.append(sorted(got))
    assert seen[0] == seen[1]


def test_retain_grad_follows_the_change() -> None:
    grads = []
    for lib in LIBS:
        x = leaf(lib, 3)
        y = x * 2
        y.retain_grad()
        y.mul_(3)
        y.sum().backward()
        grads.append(y.grad.tolist())
    assert grads[0] == grads[1] == [1, 1, 1]


def test_fill_of_an_expanded_tensor_is_allowed() -> None:
    for lib in LIBS:
        x = lib.ones(3)
        x.expand(2, 3).fill_(2)
        assert x.tolist() == [2, 2, 2]


def test_out_writes_and_resizes() -> None:
    for lib in LIBS:
        out = lib.zeros(3)
        kept = lib.add(lib.ones(3), 1, out=out)
        assert kept is out and out.tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="out=... arguments don't support automatic"):
            lib.add(lib.ones(3, requires_grad=True), 1, out=out)


@pytest.mark.parametrize("short", [True, False], ids=["in C", "in Python"])
def test_plain_tensors_take_a_short_way(short: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from rushlight.core import public

    if not short:
        monkeypatch.setattr(public, "_may_change", None)
    x, y = rl.arange(6.0).reshape(2, 3).clone(), rl.ones(3)
    assert x.add_(1) is x and x._version == 1
    x.mul_(y + 1).sub_(rl.tensor(2))
    x += x
    assert x.tolist() == [[0.0, 4.0, 8.0], [12.0, 16.0, 20.0]] and x._version == 4
    assert rl.tensor(5).floor_divide_(2).item() == 2
    with pytest.raises(RuntimeError, match="can't be cast"):
        rl.ones(2, dtype=rl.int64).add_(0.5)
    with pytest.raises(RuntimeError, match="broadcast shape"):
        rl.ones(1).add_(rl.ones(2))
    with pytest.raises(RuntimeError, match="single memory location"):
        rl.ones(1).expand(3).add_(1)
    w = rl.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        w.add_(1)
    with rl.no_grad():
        w.add_(1)
    kept = (w * 1).mul(w)
    kept.add_(rl.ones(2)).sum().backward()
    assert w.grad is not None and w.grad.tolist() == [4.0, 4.0]
    product = w * w
    with rl.no_grad():
        w.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    base = rl.zeros(4)
    base[1:3].add_(1)
    assert base.tolist() == [0.0, 1.0, 1.0, 0.0] and base._version == 1


@pytest.mark.parametrize("write", ["add_", "mul_", "copy_", "zero_"])
@pytest.mark.parametrize("shape", [(2, 6), (12,), (3, 2, 2)])
def test_a_write_by_another_shape_and_a_gradient_that_lies_otherwise(write, shape):
    """The gradient comes in transposed; the window that was written must be the same elements."""
    torch = pytest.importorskip("torch")

    def grads(t):
        p, q = [t.arange(12.0).view(3, 4).requires_grad_() for _ in range(2)]
        x = p * 2
        window = x.view(*shape)[0:1]
        value = (q * 3).reshape(shape)[0:1]
        getattr(window, write)(*(() if write == "zero_" else (value,)))
        (x.t().contiguous() * t.arange(12.0).view(4, 3)).sum().backward()
        return [p.grad.tolist(), None if q.grad is None else q.grad.tolist()]

    assert grads(rl) == grads(torch)
