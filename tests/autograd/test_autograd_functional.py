"""Derivatives of functions, gradient checks and anomaly mode, side by side with PyTorch."""

from __future__ import annotations

import pytest

import rushlight as rl
from test_autograd import said

HEAD = """
A = torch.autograd.functional
x = torch.tensor([0.5, 1.5, -2.0])
y = torch.tensor([2.0, 3.0, 4.0])
g = torch.tensor([1.0, -1.0, 0.5], requires_grad=True)
f = lambda a: (a ** 3).sum()
f2 = lambda a, b: (a ** 2 * b).sum()
v1 = lambda a: a.exp() * a
v2 = lambda a, b: (a * b, a.sum() * b)
"""

FUNCTIONAL = {
    "jacobian": "r = A.jacobian(v1, x)",
    "jacobian of a scalar": "r = A.jacobian(f, x)",
    "jacobian of two": "r = A.jacobian(f2, (x, y))",
    "jacobian of two in two": "r = A.jacobian(v2, (x, y))",
    "jacobian with graph": "r = A.jacobian(v1, g, create_graph=True)\nr = [r, *torch.autograd.grad(r.sum(), g)]",
    "jacobian vectorized": "r = A.jacobian(v1, x, vectorize=True)",
    "jacobian forward": "r = A.jacobian(v1, x, vectorize=True, strategy='forward-mode')",
    "jacobian constant": "r = A.jacobian(lambda a: torch.ones(2), x)",
    "jacobian constant strict": "r = A.jacobian(lambda a: torch.ones(2), x, strict=True)",
    "jacobian unused": "r = A.jacobian(lambda a, b: a * 2, (x, y))",
    "jacobian unused strict": "r = A.jacobian(lambda a, b: a * 2, (x, y), strict=True)",
    "jacobian no tensor": "r = A.jacobian(lambda a: 3, x)",
    "jacobian wrong input": "r = A.jacobian(v1, 3)",
    "jacobian plain result": "r = A.jacobian(v1, g).requires_grad",
    "hessian": "r = A.hessian(f, x)",
    "hessian of two": "r = A.hessian(f2, (x, y))",
    "hessian linear": "r = A.hessian(lambda a: a.sum(), x)",
    "hessian of a vector": "r = A.hessian(v1, x)",
    "hessian with graph": "h = A.hessian(f, g, create_graph=True)\nr = [h, *torch.autograd.grad(h.sum(), g)]",
    "vjp": "r = A.vjp(v1, x, y)",
    "vjp scalar": "r = A.vjp(f, x)",
    "vjp two": "r = A.vjp(f2, (x, y))",
    "vjp two in two": "r = A.vjp(v2, (x, y), (x, y))",
    "vjp no vector": "r = A.vjp(v1, x)",
    "vjp wrong vector": "r = A.vjp(v1, x, torch.ones(2))",
    "vjp with graph": "o, p = A.vjp(v1, g, y, create_graph=True)\nr = [o, p, *torch.autograd.grad(p.sum(), g)]",
    "vjp unused": "r = A.vjp(lambda a, b: (a * 2).sum(), (x, y))",
    "jvp": "r = A.jvp(v1, x, y)",
    "jvp two": "r = A.jvp(f2, (x, y), (y, x))",
    "jvp two in two": "r = A.jvp(v2, (x, y), (y, x))",
    "jvp no vector": "r = A.jvp(f, torch.tensor(2.0))",
    "jvp no vector for many": "r = A.jvp(v1, x)",
    "jvp wrong vector": "r = A.jvp(v1, x, torch.ones(2))",
    "jvp linear": "r = A.jvp(lambda a: a * 3, x, y)",
    "jvp constant": "r = A.jvp(lambda a: torch.ones(2), x, y)",
    "jacobian strict vectorized": "r = A.jacobian(v1, x, strict=True, vectorize=True)",
    "jacobian strict forward": "r = A.jacobian(v1, x, strict=True, strategy='forward-mode')",
    "jacobian with graph forward": "r = A.jacobian(v1, x, create_graph=True, strategy='forward-mode')",
    "jacobian forward alone": "r = A.jacobian(v1, x, strategy='forward-mode')",
    "jacobian linear strict with graph": "r = A.jacobian(lambda a: a * 3, x, strict=True, create_graph=True)",
    "hessian forward alone": "r = A.hessian(f, x, outer_jacobian_strategy='forward-mode')",
    "hessian linear strict": "r = A.hessian(lambda a: a.sum(), x, strict=True)",
    "hessian unused strict": "r = A.hessian(lambda a, b: f(a), (x, y), strict=True)",
    "vjp unused strict": "r = A.vjp(lambda a, b: f(a), (x, y), strict=True)",
    "vjp linear strict with graph": "r = A.vjp(lambda a: (a * 3).sum(), x, strict=True, create_graph=True)",
    "vjp two vectors for one": "r = A.vjp(v1, x, (x, y))",
    "jvp unused strict": "r = A.jvp(lambda a, b: f(a), (x, y), (y, x), strict=True)",
    "jvp linear strict with graph": "r = A.jvp(lambda a: a * 3, x, y, strict=True, create_graph=True)",
    "vhp linear strict": "r = A.vhp(lambda a: a.sum(), x, y, strict=True)",
    "vhp unused strict": "r = A.vhp(lambda a, b: f(a), (x, y), (y, x), strict=True)",
    "vhp square strict with graph": "r = A.vhp(lambda a: (a * a).sum(), x, y, strict=True, create_graph=True)",
    "vhp unrecorded": "with torch.no_grad():\n    r = A.vhp(f, x, y)",
    "hvp unrecorded": "with torch.no_grad():\n    r = A.hvp(f, x, y)",
    "hvp": "r = A.hvp(f, x, y)",
    "hvp two": "r = A.hvp(f2, (x, y), (y, x))",
    "hvp no vector": "r = A.hvp(f, x)",
    "hvp of a vector": "r = A.hvp(v1, x, y)",
    "hvp linear": "r = A.hvp(lambda a: a.sum(), x, y)",
    "vhp": "r = A.vhp(f, x, y)",
    "vhp two": "r = A.vhp(f2, (x, y), (y, x))",
    "vhp of a vector": "r = A.vhp(v1, x, y)",
    "nothing requires grad after": "A.jacobian(v1, x)\nr = [x.requires_grad, x.grad]",
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name: str) -> None:
    said(HEAD + FUNCTIONAL[name])


# -- gradcheck -------------------------------------------------------------------------------------

CHECK = """
gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
x = torch.tensor([0.5, 1.5, -2.0], dtype=torch.float64, requires_grad=True)
y = torch.tensor([2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a ** 3
    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2 * 1.01
class WrongSecond(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a ** 3
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return g * 3 * a * a.detach()
class Tangent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        ctx.save_for_forward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]
    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0]
class Host(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return torch.from_numpy(g.numpy() * 2)
class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3
    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3
class Drifts(torch.autograd.Function):
    times = 0
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        Drifts.times += 1
        return g * 2 + Drifts.times * 1e-7
"""

CHECKS = {
    "right": "r = gradcheck(lambda a: a.exp() * a, (x,))",
    "right of two": "r = gradcheck(lambda a, b: (a * b, a.sum()), (x, y))",
    "tensor alone": "r = gradcheck(lambda a: a.sin(), x)",
    "wrong": "r = gradcheck(Wrong.apply, (x,))",
    "wrong told": "r = gradcheck(Wrong.apply, (x,), raise_exception=False)",
    "wrong tangents": "r = gradcheck(Tangent.apply, (x,), check_forward_ad=True, raise_exception=False)",
    "wrong tangents unasked": "r = gradcheck(Tangent.apply, (x,))",
    "forward alone": "r = gradcheck(torch.sin, (x,), check_forward_ad=True, check_backward_ad=False, "
    "check_undefined_grad=False, check_batched_grad=False)",
    "neither": "r = gradcheck(torch.sin, (x,), check_backward_ad=False)",
    "batched": "r = gradcheck(lambda a: (a.sin(), a.cos()), (x,), check_batched_grad=True, check_grad_dtypes=True)",
    "batched wrong": "r = gradcheck(Host.apply, (x,), check_batched_grad=True, raise_exception=False)",
    "forward of backward": "r = gradgradcheck(lambda a: a ** 3, (x,), check_fwd_over_rev=True, "
    "gen_non_contig_grad_outputs=True)",
    "one gradient of two": "r = gradcheck(Pair.apply, (x,), raise_exception=False)",
    "other each time": "r = gradcheck(Drifts.apply, (x,), raise_exception=False)",
    "wrong tolerated": "r = gradcheck(Wrong.apply, (x,), rtol=0.1, atol=0.1)",
    "second right": "r = gradgradcheck(lambda a: a.exp() * a, (x,))",
    "second of two": "r = gradgradcheck(lambda a, b: a ** 2 * b, (x, y))",
    "second wrong": "r = gradgradcheck(WrongSecond.apply, (x,))",
    "second wrong told": "r = gradgradcheck(WrongSecond.apply, (x,), raise_exception=False)",
    "first right though": "r = gradcheck(WrongSecond.apply, (x,))",
    "no input": "r = gradcheck(lambda a: a * 2, (x.detach(),))",
    "not all inputs": "r = gradcheck(lambda a, b: a * b, (x, y.detach()))",
    "numbers among them": "r = gradcheck(lambda a, k: a * k, (x, 3.0))",
    "single precision": "r = gradcheck(lambda a: a * 2, (x.detach().float().requires_grad_(),))",
    "detached inside": "r = gradcheck(lambda a: a * a.detach(), (x,), raise_exception=False)",
    "complex": "z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)\nr = gradcheck(lambda a: a * a, (z,))",
    "fast": "r = gradcheck(lambda a: a.exp(), (x,), fast_mode=True)",
}


@pytest.mark.parametrize("name", CHECKS)
def test_gradcheck(name: str) -> None:
    said(CHECK + CHECKS[name])


def test_gradcheck_names_both_jacobians() -> None:
    class Wrong(rl.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    x = rl.ones(2, dtype=rl.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"):
        rl.autograd.gradcheck(Wrong.apply, (x,))


# -- anomaly ---------------------------------------------------------------------------------------


def test_anomaly_names_the_line_that_made_the_nan() -> None:
    x = rl.tensor([-1.0, 4.0], requires_grad=True)
    with rl.autograd.detect_anomaly():
        y = x.sqrt()  # the culprit
        with pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output") as e:
            (y * 2).sum().backward()
    assert str(e.value) == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert "y = x.sqrt()  # the culprit" in e.value.__notes__[0]
    assert not rl.is_anomaly_enabled()


def test_anomaly_in_a_user_function_and_off() -> None:
    class Bad(rl.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * float("nan")

    x = rl.ones(2, requires_grad=True)
    with rl.autograd.set_detect_anomaly(True):
        y = Bad.apply(x)  # made here
        with pytest.raises(RuntimeError, match="Function 'BadBackward' returned nan") as e:
            y.sum().backward()
    assert "made here" in e.value.__notes__[0]
    Bad.apply(x).sum().backward()
    assert x.grad.isnan().all()


def test_anomaly_sees_complex_nans() -> None:
    x = rl.tensor([1.0 + 1.0j], requires_grad=True)
    with rl.autograd.detect_anomaly():
        y = x * complex("nan")
        with pytest.raises(RuntimeError, match="Function 'MulBackward0' returned nan values"):
            y.backward(rl.ones(1, dtype=rl.complex64))


def test_anomaly_without_the_nan_check_and_without_nan() -> None:
    x = rl.tensor([-1.0, 4.0], requires_grad=True)
    with rl.autograd.detect_anomaly(check_nan=False):
        x.sqrt().sum().backward()
    with rl.autograd.detect_anomaly():
        (x * x).sum().backward()


def test_anomaly_as_a_call() -> None:
    rl.autograd.set_detect_anomaly(True)
    try:
        assert rl.is_anomaly_enabled()
    finally:
        rl.autograd.set_detect_anomaly(False)
    assert not rl.is_anomaly_enabled()


def test_anomaly_at_an_error_in_backward() -> None:
    """An error that is no nan names the forward line too."""
    x = rl.ones(2, requires_grad=True)
    with rl.autograd.detect_anomaly():
        y = x.exp()
        z = y.sin()  # needs y as it was
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as e:
            z.sum().backward()
    assert "Error detected in SinBackward0" in e.value.__notes__[0]
    assert "needs y as it was" in e.value.__notes__[0]
