"""DeZero's step on a GPU equals the CPU's: on a real one, and with the kernels compiled for the host."""

from __future__ import annotations

import numpy as np
import pytest

import emulated_dezero
import rushlight
import rushlight.dezero.functions as F
from rushlight.dezero import Variable, cuda
from rushlight.dezero.layers import Linear
from rushlight.dezero.models import MLP


@pytest.mark.skipif(not rushlight.cuda.is_available(), reason="no GPU")
def test_on_the_gpu(capsys) -> None:
    emulated_dezero.main()


@pytest.mark.skipif(not rushlight.cuda.is_available(), reason="no GPU")
def test_weights_come_back(tmp_path) -> None:
    model = MLP((6, 5))
    model.to_gpu()
    x = np.random.randn(4, 3).astype("f")
    y = cuda.as_numpy(model(cuda.as_cupy(x)))  # W is drawn there
    assert model.l0.W.data.flags.f_contiguous
    model.save_weights(str(tmp_path / "w"))
    assert isinstance(model.l0.W.data, np.ndarray) and model.l0.W.data.flags.c_contiguous
    other = MLP((6, 5))
    other(x)
    other.load_weights(str(tmp_path / "w.npz"))
    np.testing.assert_allclose(other(x).data, y, atol=1e-5)
    other.to_gpu()
    np.testing.assert_allclose(cuda.as_numpy(other(cuda.as_cupy(x))), y, atol=1e-6)


def array(device: str, a: np.ndarray) -> object:
    return a if device == "cpu" else cuda.as_cupy(a)


def test_the_seed_is_nobodys_to_change(device) -> None:
    """Passes share the one they begin with only where nobody can get hold of it."""
    x = np.random.randn(4, 3).astype("f")
    t = array(device, np.arange(4) % 3)
    grads = []
    for _ in range(2):
        v = Variable(array(device, x))
        loss = F.softmax_cross_entropy(v, t)
        loss.backward(retain_grad=True)
        loss.grad.data[...] = 5
        grads.append(cuda.as_numpy(v.grad))
        v.cleargrad()
        loss.cleargrad()
        loss.backward()
        grads.append(cuda.as_numpy(v.grad))
        w = Variable(array(device, np.zeros((), "f")))
        (w + 1).backward()
        w.grad.data[...] = 7  # the seed itself came through
        end = Variable(array(device, np.zeros((), "f")))
        end.backward()
        end.grad.data[...] = 8
    for g in grads[1:]:
        np.testing.assert_array_equal(g, grads[0])


@pytest.mark.parametrize("kind", ["int32", "int64", "uint8", "column"])
def test_labels_of_any_kind(device, kind) -> None:
    x = np.random.RandomState(0).randn(4, 3).astype("f")
    labels = np.arange(4) % 3
    t = labels[:, None] if kind == "column" else labels.astype(kind)
    loss = F.softmax_cross_entropy(array(device, x), array(device, t))
    z = np.exp(x)
    expected = -np.log(z[np.arange(4), labels] / z.sum(1)).mean()
    np.testing.assert_allclose(cuda.as_numpy(loss), expected, rtol=1e-5)


def test_w_of_a_linear_layer_is_a_parameter_like_others(device) -> None:
    layer = Linear(3, in_size=2)
    if device == "cuda":
        layer.to_gpu()
    before = cuda.as_numpy(layer.W).copy()
    y = F.sum(layer(array(device, np.ones((5, 2), "f"))))
    y.backward(create_graph=True)
    np.testing.assert_allclose(cuda.as_numpy(layer.W.grad), np.full((2, 3), 5.0))
    layer.W.data -= 0.5 * layer.W.grad.data
    np.testing.assert_allclose(cuda.as_numpy(layer.W), before - 2.5, rtol=1e-6)
    assert [p.name for p in layer.params()] == ["W", "b"]
