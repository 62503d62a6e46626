"""DeZero's layers, models, optimizers and weight files."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight.dezero as dezero
import rushlight.dezero.functions as F
import rushlight.dezero.layers as L
from rushlight.dezero import Layer, Model, Parameter, Variable, optimizers
from rushlight.dezero.models import MLP, VGG16, ResNet, ResNet50, Sequential, SqueezeNet
from rushlight.dezero.utils import array_allclose, array_equal


def keys(layer):
    found = {}
    layer._flatten_params(found)
    return list(found)


def test_parameters_and_layers_are_collected():
    layer = Layer()
    layer.p1, layer.p2 = Parameter(np.array(1.0)), Parameter(np.array(2.0))
    layer.v, layer.s = Variable(np.array(3.0)), "text"
    layer.inner = L.Linear(2, in_size=3)
    assert list(layer._params) == ["p1", "p2", "inner"]
    assert list(layer.params()) == [layer.p1, layer.p2, layer.inner.W, layer.inner.b]
    for p in layer.params():
        p.grad = Variable(np.zeros(1))
    layer.cleargrads()
    assert all(p.grad is None for p in layer.params())
    layer.p1 = None
    assert list(layer.params())[0] is layer.p2


def test_linear_waits_for_its_input():
    layer = L.Linear(10)
    assert layer.W.data is None and layer.b.shape == (10,)
    np.random.seed(0)
    y = layer(np.ones((2, 5), np.float32))
    np.random.seed(0)
    expected = np.random.randn(5, 10).astype("f") * np.float32(np.sqrt(1 / 5))
    assert array_equal(layer.W, expected) and layer.W.dtype == y.dtype == np.float32
    assert layer.inputs[0]().shape == (2, 5) and layer.outputs[0]() is y
    assert L.Linear(3, nobias=True).b is None
    assert L.Linear(3, dtype=np.float64, in_size=2).W.dtype == np.float64
    assert (L.Linear(3, in_size=2).W.name, L.Linear(3).b.name) == ("W", "b")


@pytest.mark.parametrize("cls, shape", [(L.Conv2d, (4, 3, 2, 5)), (L.Deconv2d, (3, 4, 2, 5))])
def test_convolution_layers(cls, shape):
    layer = cls(4, (2, 5), stride=2, pad=1)
    y = layer(np.random.randn(1, 3, 8, 8).astype("f"))
    assert layer.W.shape == shape and layer.b.shape == (4,) and y.dtype == np.float32
    y.backward()
    assert layer.W.grad.shape == shape and layer.W.grad.dtype == np.float32
    assert cls(4, 3, in_channels=2, nobias=True).W.shape[2:] == (3, 3)


def test_batch_norm_layer():
    layer = L.BatchNorm()
    x = np.random.randn(20, 3, 4, 4).astype("f") * 3 + 1
    y = layer(x)
    assert keys(layer) == ["avg_mean", "avg_var", "gamma", "beta"]
    assert y.dtype == layer.avg_mean.dtype == np.float32
    np.testing.assert_allclose(y.data.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(layer.avg_mean.data, 0.1 * x.mean((0, 2, 3)), rtol=1e-3)
    with dezero.test_mode():
        assert not array_allclose(layer(x), y)


def test_rnn_and_truncated_backpropagation():
    rnn = L.RNN(4)
    x = np.random.randn(1, 2).astype("f")
    first = rnn(x)
    second = rnn(x)
    W, b, H = rnn.x2h.W.data, rnn.x2h.b.data, rnn.h2h.W.data
    assert array_allclose(first, np.tanh(x @ W + b))
    assert array_allclose(second, np.tanh(x @ W + b + first.data @ H))
    second.backward()
    assert rnn.h2h.W.grad.shape == (4, 4)
    second.unchain_backward()
    third = rnn(x)
    first.cleargrad()
    third.backward()
    assert first.grad is None and first.creator is None
    rnn.reset_state()
    assert array_allclose(rnn(x), first)
    assert L.RNN(4, in_size=2)(x).shape == (1, 4)


def test_lstm():
    lstm = L.LSTM(3, in_size=2)
    x = np.random.randn(5, 2).astype("f")

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    h = c = np.zeros((5, 3), "f")
    for _ in range(3):
        gates = {
            g: x @ getattr(lstm, "x2" + g).W.data + getattr(lstm, "x2" + g).b.data + h @ getattr(lstm, "h2" + g).W.data
            for g in "fiou"
        }
        c = sigmoid(gates["f"]) * c + sigmoid(gates["i"]) * np.tanh(gates["u"])
        h = sigmoid(gates["o"]) * np.tanh(c)
        y = lstm(x)
        assert array_allclose(y, h) and y.dtype == np.float32
    y.backward()
    assert all(p.grad is not None for p in lstm.params())
    assert "x2f/W" in keys(lstm) and "h2u/W" in keys(lstm) and "h2u/b" not in keys(lstm)
    lstm.reset_state()
    assert lstm.h is None and lstm.c is None


def test_embedding_layer():
    layer = L.EmbedID(10, 3)
    y = layer(np.array([1, 2, 1]))
    y.backward()
    assert layer.W.grad.data[:, 0].tolist() == [0, 2, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_model_of_ones_own():
    class TwoLayerNet(Model):
        def __init__(self, hidden, out):
            super().__init__()
            self.l1, self.l2 = L.Linear(hidden), L.Linear(out)

        def forward(self, x):
            return self.l2(F.sigmoid(self.l1(x)))

    np.random.seed(0)
    x = np.random.rand(100, 1)
    t = np.sin(2 * np.pi * x) + np.random.rand(100, 1)
    model = TwoLayerNet(10, 1)
    losses = []
    for _ in range(300):
        loss = F.mean_squared_error(model(x), t)
        model.cleargrads()
        loss.backward()
        for p in model.params():
            p.data -= 0.2 * p.grad.data
        losses.append(float(loss.data))
    assert losses[-1] < 0.5 * losses[0]


def test_sequential_and_mlp():
    x = np.random.randn(4, 5).astype("f")
    model = Sequential(L.Linear(3), F.relu, L.Linear(2))
    assert model(x).shape == (4, 2) and keys(model) == ["l0/W", "l0/b", "l2/W", "l2/b"]
    mlp = MLP((3, 2), activation=F.relu)
    y = mlp(x)
    l0, l1 = mlp.layers
    assert array_allclose(y, np.maximum(x @ l0.W.data + l0.b.data, 0) @ l1.W.data + l1.b.data)


@pytest.mark.parametrize("suffix", ["", ".npz"])
def test_weights_go_to_a_file_and_back(tmp_path, suffix):
    x = np.random.randn(4, 5).astype("f")
    model = MLP((3, 2))
    y = model(x)
    model.save_weights(str(tmp_path / "w") + suffix)
    with np.load(tmp_path / "w.npz") as f:
        assert sorted(f.files) == ["l0/W", "l0/b", "l1/W", "l1/b"]
    assert [p.name for p in tmp_path.iterdir()] == ["w.npz"]
    other = MLP((3, 2))  # has seen no input yet
    other.load_weights(str(tmp_path / "w.npz"))
    assert array_equal(other(x), y)


def test_weights_of_the_original_load(tmp_path):
    """The original writes the same keys by np.savez_compressed."""
    arrays = {"l0/W": np.ones((2, 3), "f"), "l0/b": np.zeros(3, "f"), "l1/W": np.ones((3, 1), "f"),
              "l1/b": np.full(1, 2.0, "f")}  # fmt: skip
    np.savez_compressed(tmp_path / "theirs.npz", **arrays)
    model = MLP((3, 1), activation=F.relu)
    model.load_weights(str(tmp_path / "theirs.npz"))
    assert model(np.array([[1.0, 2.0]], "f")).data.tolist() == [[11.0]]


# -- optimizers -------------------------------------------------------------------------------------


def by_hand(name, p, grads):
    """The book's rules, step by step, in float64."""
    h = d = m = v = np.zeros_like(p)
    for t, g in enumerate(grads, 1):
        if name == "SGD":
            p = p - 0.01 * g
        elif name == "MomentumSGD":
            v = 0.9 * v - 0.01 * g
            p = p + v
        elif name == "AdaGrad":
            h = h + g * g
            p = p - 0.001 * g / (np.sqrt(h) + 1e-8)
        elif name == "AdaDelta":
            h = 0.95 * h + 0.05 * g * g
            step = np.sqrt((d + 1e-6) / (h + 1e-6)) * g
            d = 0.95 * d + 0.05 * step * step
            p = p - step
        else:
            m = m + 0.1 * (g - m)
            v = v + 0.001 * (g * g - v)
            lr = 0.001 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            p = p - lr * m / (np.sqrt(v) + 1e-8)
    return p


NAMES = ["SGD", "MomentumSGD", "AdaGrad", "AdaDelta", "Adam"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rules(name, dtype):
    target = Layer()
    start = np.random.randn(3, 4)
    target.a, target.b = Parameter(start.astype(dtype)), Parameter(start[0].astype(dtype))
    target.untouched = Parameter(np.ones(2, dtype))
    array = target.a.data
    optimizer = getattr(optimizers, name)().setup(target)
    grads = [np.random.randn(3, 4) for _ in range(5)]
    for g in grads:
        target.a.grad, target.b.grad = Variable(g.astype(dtype)), Variable(g[0].astype(dtype))
        optimizer.update()
    tolerance = 1e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(target.a.data, by_hand(name, start, grads), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        target.b.data, by_hand(name, start[0], [g[0] for g in grads]), rtol=tolerance, atol=tolerance
    )
    assert target.a.data is array and target.a.dtype == dtype  # changed in place
    assert target.untouched.data.tolist() == [1, 1]


def test_momentum_keeps_the_learning_rate_inside():
    target = Layer()
    target.p = Parameter(np.zeros(1))
    optimizer = optimizers.MomentumSGD(lr=1.0).setup(target)
    for lr in (1.0, 0.1):
        optimizer.lr = lr
        target.p.grad = Variable(np.ones(1))
        optimizer.update()
    assert np.isclose(target.p.data[0], -1 + (-0.9 - 0.1))


def test_adam_lr():
    optimizer = optimizers.Adam(alpha=0.01)
    target = Layer()
    optimizer.setup(target).update()
    assert optimizer.t == 1 and np.isclose(optimizer.lr, 0.01 * np.sqrt(0.001) / 0.1)


def test_gradient_of_another_dtype():
    target = Layer()
    target.p = Parameter(np.zeros(2, "f"))
    target.p.grad = Variable(np.ones(2))
    optimizers.SGD(0.5).setup(target).update()
    assert target.p.dtype == np.float32 and target.p.data.tolist() == [-0.5, -0.5]


def test_an_optimizer_of_ones_own():
    class Sign(optimizers.Optimizer):
        def update_one(self, param):
            param.data -= np.sign(param.grad.data)

    class Half(optimizers.SGD):
        def update_one(self, param):
            param.data *= 0.5

    for cls, expected in ((Sign, 2), (Half, 1.5)):
        target = Layer()
        target.p = Parameter(np.array(3.0))
        target.p.grad = Variable(np.array(7.0))
        cls().setup(target).update()
        assert target.p.data == expected
    with pytest.raises(NotImplementedError):
        optimizers.Optimizer().update_one(target.p)


def test_hooks():
    target = Layer()
    target.a, target.b = Parameter(np.full(2, 3.0)), Parameter(np.full(2, 5.0))
    shared = Variable(np.full(2, 1.0))
    target.a.grad = target.b.grad = shared
    optimizers.WeightDecay(0.1)(list(target.params()))
    assert target.a.grad.data.tolist() == [1.3, 1.3] and target.b.grad.data.tolist() == [1.5, 1.5]
    target.a.grad, target.b.grad = Variable(np.full(2, 3.0)), Variable(np.full(2, 4.0))
    optimizers.ClipGrad(1.0)(list(target.params()))
    norm = np.sqrt(sum((p.grad.data**2).sum() for p in target.params()))
    assert np.isclose(norm, 1.0)
    optimizers.ClipGrad(100.0)(list(target.params()))
    assert np.isclose(np.sqrt(sum((p.grad.data**2).sum() for p in target.params())), 1.0)
    optimizer = optimizers.SGD(1.0).setup(target)
    optimizer.add_hook(optimizers.FreezeParam(target.b))
    before = target.b.data.copy()
    optimizer.update()
    assert array_equal(target.b, before) and target.b.grad is None
    inner = Layer()
    inner.l = L.Linear(1, in_size=1)
    assert len(optimizers.FreezeParam(inner, target.a).freeze_params) == 3


def test_hooks_keep_float32():
    target = Layer()
    target.p = Parameter(np.ones(2, "f"))
    target.p.grad = Variable(np.ones(2, "f"))
    optimizers.WeightDecay(np.float64(0.1))([target.p])
    optimizers.ClipGrad(np.float64(0.1))([target.p])
    assert target.p.grad.dtype == np.float32


# -- large models -----------------------------------------------------------------------------------


def test_vgg16():
    model = VGG16()
    with dezero.test_mode(), dezero.no_grad():
        y = model(np.random.randn(1, 3, 32, 32).astype("f"))
    assert y.shape == (1, 1000) and y.dtype == np.float32
    assert len(keys(model)) == 32 and keys(model)[0] == "conv1_1/W" and "fc8/b" in keys(model)
    PIL = pytest.importorskip("PIL.Image")
    image = PIL.fromarray(np.zeros((8, 8, 3), np.uint8) + np.array([10, 20, 30], np.uint8))
    a = VGG16.preprocess(image)
    assert a.shape == (3, 224, 224) and a.dtype == np.float32
    np.testing.assert_allclose(a[:, 0, 0], [30 - 103.939, 20 - 116.779, 10 - 123.68], rtol=1e-5)


def test_resnet():
    model = ResNet50()
    with dezero.test_mode(), dezero.no_grad():
        y = model(np.random.randn(1, 3, 64, 64).astype("f"))
    assert y.shape == (1, 1000) and y.dtype == np.float32
    found = keys(model)
    for key in ("conv1/W", "conv1/b", "bn1/avg_mean", "res2/a/conv4/W", "res3/b3/bn2/gamma", "fc6/b"):
        assert key in found
    assert "res2/a/conv1/b" not in found
    with pytest.raises(ValueError, match="n_layers"):
        ResNet(34)


def test_resnet_trains_in_float32():
    from rushlight.dezero.models import BuildingBlock

    block = BuildingBlock(2, 8, 4, 16, 2)
    y = block(np.random.randn(2, 8, 6, 6).astype("f"))
    F.sum(y).backward()
    assert y.shape == (2, 16, 3, 3)
    trained = [p for p in block.params() if p.name not in ("avg_mean", "avg_var")]
    assert all(p.grad.dtype == np.float32 for p in trained)


def test_squeezenet():
    model = SqueezeNet()
    with dezero.test_mode(), dezero.no_grad():
        y = model(np.random.randn(1, 3, 64, 64).astype("f"))
    assert y.shape == (1, 1000) and y.dtype == np.float32
    assert 1.2e6 < sum(p.size for p in model.params()) < 1.3e6


def test_plot_a_model(tmp_path, monkeypatch):
    import shutil

    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.warns(UserWarning, match="graphviz is not installed"):
        MLP((3, 2)).plot(np.random.randn(2, 2), to_file=str(tmp_path / "model.png"))
    assert "Linear" in (tmp_path / "model.dot").read_text()
