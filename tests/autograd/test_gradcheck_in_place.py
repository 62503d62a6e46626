"""`gradcheck` moves the elements of the inputs themselves, so that a function may hold them, or ask of what class they are."""

from __future__ import annotations

import pytest

import rushlight

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])


def parameter(lib):
    return lib.nn.Parameter(lib.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=lib.float64))


@BOTH
@pytest.mark.parametrize("check", ["gradcheck", "gradgradcheck"])
def test_a_parameter_stays_one(lib, check):
    def of_a_module(w):
        net = lib.nn.Linear(2, 2, bias=False, dtype=lib.float64)
        net.weight = w  # refuses what is no Parameter
        return net(lib.ones(3, 2, dtype=lib.float64)).tanh()

    w = parameter(lib)
    before = w.tolist()
    assert getattr(lib.autograd, check)(of_a_module, (w,))
    assert w.tolist() == before


@BOTH
def test_a_function_that_holds_its_input(lib):
    w = parameter(lib)
    assert lib.autograd.gradcheck(lambda _: w.sin(), (w,))


@BOTH
def test_a_wrong_derivative_is_still_found_and_the_input_put_back(lib):
    class Wrong(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    w = parameter(lib)
    before = w.tolist()
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        lib.autograd.gradcheck(Wrong.apply, (w,))
    assert w.tolist() == before


@BOTH
def test_a_view_with_gaps_and_a_complex_one(lib):
    x = lib.arange(8.0, dtype=lib.float64).reshape(4, 2).t().detach().requires_grad_()
    assert lib.autograd.gradcheck(lambda t: (t * t).sum(0), (x,))
    z = lib.tensor([1 + 2j, -0.5j], dtype=lib.complex128, requires_grad=True)
    assert lib.autograd.gradcheck(lambda t: (t * t.conj()).real, (z,))


def test_random_gradients_come_from_the_common_stream():
    def after(lib, ask):
        x, z = [lib.ones(5, dtype=d, requires_grad=True) for d in (lib.double, lib.cdouble)]
        lib.manual_seed(0)
        assert ask(lib.autograd, lib, x, z)
        return lib.rand(1).item()

    for ask in (
        lambda a, lib, x, z: a.gradcheck(lib.sin, (x,)),
        lambda a, lib, x, z: a.gradgradcheck(lib.sin, (x,)),
        lambda a, lib, x, z: a.gradgradcheck(lib.sin, (z,)),
        lambda a, lib, x, z: a.gradgradcheck(lib.sin, (x,), gen_non_contig_grad_outputs=True),
        lambda a, lib, x, z: a.gradcheck(lib.sin, (x,), check_batched_grad=True),
    ):
        assert after(rushlight, ask) == after(torch, ask)
