"""Dual tensors beside PyTorch's: tangents through functions, layers, views and in-place changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
# PyTorch warns of itself when it makes its first dual tensor.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])


def fw_of(lib: Any) -> Any:
    import importlib

    return importlib.import_module(f"{lib.__name__}.autograd.forward_ad")


def unpacked(lib: Any, function: Any, shape: tuple, layer: Any = None) -> list[Any]:
    """Values and tangents of what a function gives of a dual tensor."""
    fw, random = fw_of(lib), np.random.RandomState(0)
    lib.manual_seed(0)
    x, t = (lib.tensor(random.randn(*shape).astype(np.float32)) for _ in range(2))
    extra = []
    if layer is not None:
        extra = [layer(lib)]
        for p in extra[0].parameters():
            p.data.copy_(lib.tensor(0.3 * random.randn(*p.shape).astype(np.float32)))
    found: list[Any] = []
    with fw.dual_level():
        outs = function(lib, *extra, fw.make_dual(x, t))
        for out in outs if isinstance(outs, (tuple, list)) else (outs,):
            primal, tangent = fw.unpack_dual(out)
            found += [primal.detach().numpy(), None if tangent is None else tangent.detach().numpy()]
    return found


def agree(function: Any, shape: tuple, layer: Any = None) -> None:
    ours, theirs = (unpacked(lib, function, shape, layer) for lib in (rl, torch))
    assert len(ours) == len(theirs)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        assert (a is None) == (b is None), f"{i}: {a} {b}"
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5, err_msg=str(i))


FUNCTIONS = {
    "products": lambda lib, x: (x.T @ x, lib.einsum("ij,ik->jk", x, x), lib.outer(x[0], x[1])),
    "sums": lambda lib, x: (x.sum(), x.mean(0), x.var(), x.norm(), x.logsumexp(1), x.cumsum(0)),
    "views": lambda lib, x: (x.T, x[1:], x.unbind(0)[0], x.chunk(2, 1)[1], x[:, None].expand(3, 2, 4), x.flatten()),
    "joins": lambda lib, x: (lib.cat([x, lib.ones_like(x)]), lib.stack([x, x]), lib.where(x > 0, x, -x)),
    "order": lambda lib, x: (x.max(0).values, x.sort(0).values, x.argmax(0), x[lib.tensor([0, 2])]),
    "smooth": lambda lib, x: [getattr(lib.nn.functional, n)(x) for n in ("gelu", "silu", "elu", "softplus")],
    "losses": lambda lib, x: (lib.nn.functional.cross_entropy(x, lib.tensor([0, 1, 2])), (x**2).mean()),
    "linalg": lambda lib, x: (lib.linalg.inv(x @ x.T + lib.eye(3)), lib.linalg.det(x @ x.T)),
    "spectrum": lambda lib, x: lib.fft.irfft(lib.fft.rfft(x) * (1 + 2j)),
    "masks drawn once": lambda lib, x: lib.nn.functional.dropout(x, 0.5),
    "nothing": lambda lib, x: (x.detach(), x.data, lib.zeros_like(x), x * 0),
    "a map": lambda lib, x: lib.vmap(lambda row: row.sin().sum())(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    agree(FUNCTIONS[name], (3, 4))


LAYERS = {
    "Linear": (lambda lib: lib.nn.Linear(4, 2), (3, 4)),
    "Conv2d": (lambda lib: lib.nn.Conv2d(2, 3, 3), (1, 2, 5, 5)),
    "BatchNorm1d": (lambda lib: lib.nn.BatchNorm1d(4), (6, 4)),
    "LayerNorm": (lambda lib: lib.nn.LayerNorm(4), (6, 4)),
    "MaxPool2d": (lambda lib: lib.nn.MaxPool2d(2), (1, 2, 4, 4)),
    "GRUCell": (lambda lib: lib.nn.GRUCell(4, 3), (2, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    make, shape = LAYERS[name]
    agree(lambda lib, net, x: net(x), shape, make)


def test_layers_whose_forward_mode_pytorch_lacks() -> None:
    """Attention and the LSTM: the tangent is that of `func.jvp`."""
    fw = fw_of(rl)
    rl.manual_seed(0)
    lstm, x, t = rl.nn.LSTM(3, 4), rl.randn(5, 2, 3), rl.randn(5, 2, 3)
    attend = rl.nn.functional.scaled_dot_product_attention
    for f in (lambda x: lstm(x)[0], lambda x: attend(x, x, x)):
        with fw.dual_level():
            tangent = fw.unpack_dual(f(fw.make_dual(x, t))).tangent
        expected = rl.func.jvp(f, (x,), (t,))[1]
        np.testing.assert_allclose(tangent.detach(), expected.detach(), rtol=1e-4, atol=1e-6)


def test_in_place() -> None:
    def parts(lib: Any, x: Any) -> Any:
        y = x * 2
        y[0] = 5.0
        y.add_(x)
        y[1:].mul_(x[1:])
        y += x
        return y, x

    def of_a_plain_tensor(lib: Any, x: Any) -> Any:
        y = lib.zeros(*x.shape)
        rows = y[:2]
        rows.add_(x[:2])
        return y, rows, y[1]

    agree(parts, (3, 4))
    agree(of_a_plain_tensor, (3, 4))
    agree(lambda lib, x: ((x * 1).zero_(), (x * 1).normal_()), (3, 4))


@BOTH
def test_backward_over_forward(lib: Any) -> None:
    fw, w = fw_of(lib), lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with fw.dual_level():
        out = (fw.make_dual(w, lib.ones(3)) ** 3).sum()
        tangent = fw.unpack_dual(out).tangent
        assert out.requires_grad and tangent.requires_grad
        tangent.backward()
    assert w.grad.tolist() == [6.0, 12.0, 18.0]


@BOTH
def test_without_the_tape(lib: Any) -> None:
    fw, x = fw_of(lib), lib.tensor([1.0, 2.0])
    with fw.dual_level(), lib.no_grad():
        y = fw.make_dual(x, lib.ones(2)) * 3
        assert not y.requires_grad and fw.unpack_dual(y).tangent.tolist() == [3.0, 3.0]


@BOTH
def test_own_functions_say_their_tangents(lib: Any) -> None:
    fw, x = fw_of(lib), lib.tensor([1.0, 2.0])

    class Scaled(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_forward(x)
            return x * k

        @staticmethod
        def jvp(ctx, t, k):
            assert k is None and ctx.saved_tensors[0].tolist() == [1.0, 2.0]
            return t * 100

    class Silent(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with fw.dual_level():
        dual = fw.make_dual(x, lib.ones(2))
        out = fw.unpack_dual(Scaled.apply(dual, 3))
        assert out.primal.tolist() == [3.0, 6.0] and out.tangent.tolist() == [100.0, 100.0]
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            Silent.apply(dual)
        assert Silent.apply(x).tolist() == [2.0, 4.0]


@BOTH
def test_levels(lib: Any) -> None:
    fw, x = fw_of(lib), lib.ones(3)
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(x, x)
    with fw.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            fw.enter_dual_level()
        with pytest.raises(RuntimeError, match="has a different size than that of the original"):
            fw.make_dual(x, lib.ones(2))
        with pytest.raises(ValueError, match="Expected tangent to be floating point"):
            fw.make_dual(x, lib.ones(3).long())
        dual = fw.make_dual(x, x)
        assert dual.data_ptr() == x.data_ptr() and type(dual) is lib.Tensor
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fw.make_dual(dual, x)
        with pytest.raises(NotImplementedError, match="is an out= function"):
            lib.mul(dual, dual, out=lib.empty(3))
        assert fw.unpack_dual(x).tangent is None
        again = fw.unpack_dual(dual).primal
        assert fw.unpack_dual(again).tangent is None
    assert fw.unpack_dual(dual).tangent is None

    @fw.dual_level()
    def slope(x):
        return fw.unpack_dual(fw.make_dual(x, lib.ones(3)).sin()).tangent

    assert slope(lib.zeros(3)).tolist() == [1.0, 1.0, 1.0] == slope(lib.zeros(3)).tolist()


def test_new_empty_strided() -> None:
    made = rl.zeros(1, dtype=rl.float64).new_empty_strided((2, 3), (1, 2))
    assert made.stride() == (1, 2) and made.dtype is rl.float64


def test_complex_directions() -> None:
    """func.jvp of complex functions, which dual tensors share."""
    z = np.array([1 + 2j, 0.5 - 1j], np.complex64)
    t = np.array([0.3 + 1j, 2 - 0.7j], np.complex64)
    results = [
        lib.func.jvp(lambda z: z * z * (1 + 3j), (lib.tensor(z),), (lib.tensor(t),))[1].numpy() for lib in (rl, torch)
    ]
    np.testing.assert_allclose(*results, rtol=1e-5)
