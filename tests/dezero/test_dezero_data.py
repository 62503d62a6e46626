"""DeZero's datasets, loaders, transforms, helpers and its module for the GPU."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest

import rushlight
import rushlight.dezero as dezero
import rushlight.dezero.functions as F
from rushlight.dezero import DataLoader, Dataset, SeqDataLoader, Variable, cuda, datasets, utils
from rushlight.dezero import transforms as T

NO_GPU = not rushlight.cuda.is_available()


# -- datasets ---------------------------------------------------------------------------------------


def test_spiral_is_the_books():
    x, t = datasets.get_spiral()
    assert x.shape == (300, 2) and x.dtype == np.float32 and np.bincount(t).tolist() == [100] * 3
    # drawn one by one, as the book does
    np.random.seed(1984)
    rows, labels = [], []
    for j in range(3):
        for i in range(100):
            rate = i / 100
            theta = j * 4.0 + 4.0 * rate + np.random.randn() * 0.2
            rows.append([rate * np.sin(theta), rate * np.cos(theta)])
            labels.append(j)
    order = np.random.permutation(300)
    np.testing.assert_allclose(x, np.array(rows, np.float32)[order], rtol=1e-6)
    assert np.array_equal(t, np.array(labels)[order])
    here = np.random.rand()
    datasets.get_spiral()
    assert np.random.rand() == here  # the seed is the program's, as there
    assert not np.array_equal(datasets.Spiral(train=False).data, x)


def test_sin_curve():
    curve = datasets.SinCurve(train=False)
    assert curve.data.shape == (999, 1) and np.array_equal(curve.data[1:], curve.label[:-1])
    np.testing.assert_allclose(curve.data[0], 1.0)
    assert np.abs(datasets.SinCurve().data[:, 0] - np.sin(np.linspace(0, 2 * np.pi, 1000))[:-1]).max() <= 0.05


def test_shakespear_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path))
    (tmp_path / "shakespear.txt").write_text("to be or not")
    found = datasets.Shakespear()
    assert "".join(found.id_to_char[i] for i in found.data) == "to be or no"
    assert "".join(found.id_to_char[i] for i in found.label) == "o be or not"
    assert found.char_to_id["t"] == 0


def write_mnist(folder, n=20, packed=True):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.RandomState(0)
    for prefix in ("train", "t10k"):
        images = rng.randint(0, 30, (n, 28, 28)).astype(np.uint8)
        labels = (np.arange(n) % 10).astype(np.uint8)
        for row in (0, 10):  # something to learn
            images[np.arange(n), labels + row] = 255
        for name, a in ((f"{prefix}-images-idx3-ubyte", images), (f"{prefix}-labels-idx1-ubyte", labels)):
            raw = bytes([0, 0, 8, a.ndim]) + struct.pack(f">{a.ndim}I", *a.shape) + a.tobytes()
            if packed:
                (folder / (name + ".gz")).write_bytes(gzip.compress(raw))
            else:
                (folder / name).write_bytes(raw)


@pytest.mark.parametrize("place", ["cache", "cache/MNIST/raw", "data/MNIST/raw", "mine/MNIST/raw"])
@pytest.mark.parametrize("packed", [True, False])
def test_mnist_is_found(tmp_path, monkeypatch, place, packed):
    if place == "cache" and not packed:
        pytest.skip("the original keeps the packed files")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))
    if place.startswith("mine"):
        monkeypatch.setattr(datasets, "roots", [str(tmp_path / "mine")])
    write_mnist(tmp_path / place, packed=packed)
    for train in (True, False):
        mnist = datasets.MNIST(train=train)
        assert mnist.data.shape == (20, 1, 28, 28) and mnist.data.dtype == np.uint8
        x, t = mnist[3]
        assert x.shape == (784,) and x.dtype == np.float32 and x.max() == 1.0 and t == 3
    assert datasets.MNIST.labels()[7] == "7"


def test_mnist_without_files_says_where_to_put_them(tmp_path, monkeypatch):
    from rushlight import hub

    def unreachable(*args, **kwargs):
        raise hub.DownloadError("nobody answers")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))
    monkeypatch.setattr("rushlight.vision.datasets.mnist.download_url", unreachable)
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte"):
        datasets.MNIST()


def write_cifar(folder, names, keys, rows=3):
    import pickle

    folder.mkdir(parents=True)
    for name in names:
        entry = {"data": np.random.randint(0, 256, (rows, 3072)).astype(np.uint8), **keys}
        (folder / name).write_bytes(pickle.dumps(entry, protocol=2))


def test_cifar10(tmp_path, monkeypatch):
    import pickle

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "cifar-10-batches-py"
    write_cifar(folder, [*[f"data_batch_{i}" for i in range(1, 6)], "test_batch"], {"labels": [0, 1, 9]})
    names = list(datasets.CIFAR10.labels().values())
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": names}, protocol=2))
    cifar = datasets.CIFAR10()
    assert cifar.data.shape == (15, 3, 32, 32) and cifar.label.tolist()[:3] == [0, 1, 9]
    x, t = cifar[0]
    assert x.dtype == np.float32 and np.allclose(x, (cifar.data[0] - 0.5) / 0.5)
    assert len(datasets.CIFAR10(train=False)) == 3


@pytest.mark.parametrize("kind", ["fine", "coarse"])
def test_cifar100(tmp_path, monkeypatch, kind):
    import pickle

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "cifar-100-python"
    write_cifar(folder, ["train", "test"], {"fine_labels": [99, 3, 4], "coarse_labels": [19, 1, 2]})
    names = list(datasets.CIFAR100.labels().values())
    (folder / "meta").write_bytes(pickle.dumps({"fine_label_names": names}, protocol=2))
    cifar = datasets.CIFAR100(label_type=kind)
    assert cifar.label.tolist() == ([99, 3, 4] if kind == "fine" else [19, 1, 2])
    assert len(datasets.CIFAR100.labels(kind)) == (100 if kind == "fine" else 20)


def test_cache_of_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "new"))
    assert datasets.load_cache_npz("http://x/y.tar", train=True) == (None, None)
    datasets.save_cache_npz(np.arange(3), np.ones(2), "http://x/y.tar", train=True)
    data, label = datasets.load_cache_npz("y.tar", train=True)
    assert data.tolist() == [0, 1, 2] and label.tolist() == [1, 1]


def test_imagenet_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path))
    (tmp_path / "imagenet1000_clsidx_to_labels.txt").write_text("{0: 'tench', 1: 'goldfish'}")
    assert datasets.ImageNet.labels()[1] == "goldfish"
    with pytest.raises(NotImplementedError):
        datasets.ImageNet()


# -- loaders ----------------------------------------------------------------------------------------


class Numbers(Dataset):
    def prepare(self):
        self.data = np.arange(10, dtype=np.float32)[:, None]
        self.label = np.arange(10)


def test_loader_is_its_own_iterator():
    loader = DataLoader(Numbers(), 3, shuffle=False)
    assert loader.max_iter == 4 and iter(loader) is loader
    x, t = loader.next()
    assert isinstance(x, np.ndarray) and x.shape == (3, 1) and t.tolist() == [0, 1, 2]
    assert [len(t) for _, t in loader] == [3, 3, 1]
    assert [t.tolist() for _, t in loader] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]


def test_loader_shuffles_by_numpy():
    np.random.seed(3)
    loader = DataLoader(Numbers(), 5)
    seen = np.concatenate([t for _, t in loader])
    np.random.seed(3)
    assert np.array_equal(seen, np.random.permutation(10)) and not np.array_equal(seen, np.arange(10))
    assert not np.array_equal(np.concatenate([t for _, t in loader]), seen)


@pytest.mark.parametrize(
    "transform",
    [
        None,
        T.Compose([T.Flatten(), T.ToFloat(), T.Normalize(0.0, 255.0)]),
        T.Compose([T.ToFloat(), T.Normalize((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))]),
        T.Compose([T.Normalize(1, 2)]),
        T.ToInt(),
        lambda a: a.mean(0),
    ],
)
@pytest.mark.parametrize("target", [None, T.AsType(np.float64), lambda t: t * 2])
def test_a_batch_is_what_its_examples_are(transform, target):
    class Pictures(Dataset):
        def prepare(self):
            self.data = np.random.RandomState(0).randint(0, 256, (6, 3, 4, 4)).astype(np.uint8)
            self.label = np.arange(6)

    dataset = Pictures(transform=transform, target_transform=target)
    x, t = DataLoader(dataset, 4, shuffle=False).next()
    xs, ts = zip(*[dataset[i] for i in range(4)])
    assert x.dtype == np.array(xs).dtype and t.dtype == np.array(ts).dtype
    np.testing.assert_allclose(x, np.array(xs), rtol=1e-6)
    np.testing.assert_array_equal(t, np.array(ts))


def test_datasets_of_ones_own():
    class ByCall(Numbers):
        def __getitem__(self, index):
            return self.data[index] * 10, 7

    x, t = DataLoader(ByCall(), 2, shuffle=False).next()
    assert x.tolist() == [[0], [10]] and t.tolist() == [7, 7]

    class Anything:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return [float(i)], i

    x, t = DataLoader(Anything(), 4, shuffle=False).next()
    assert x.shape == (4, 1) and t.tolist() == [0, 1, 2, 3]

    class Unlabelled(Numbers):
        def prepare(self):
            self.data = np.arange(3)

    assert Unlabelled()[1] == (1, None)
    x, t = DataLoader(Unlabelled(), 2, shuffle=False).next()
    assert x.tolist() == [0, 1] and t.tolist() == [None, None]


def test_sequences():
    loader = SeqDataLoader(Numbers(), batch_size=2)
    assert loader.max_iter == 5
    assert [t.tolist() for _, t in loader] == [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]


# -- transforms -------------------------------------------------------------------------------------


def test_array_transforms():
    a = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    assert T.Flatten()(a).shape == (12,)
    assert T.ToFloat()(a).dtype == T.AsType()(a).dtype == np.float32 and T.ToInt()(a).dtype.kind == "i"
    f = T.ToFloat()(a)
    assert T.Normalize(mean=2, std=4)(f).dtype == np.float32
    np.testing.assert_allclose(T.Normalize([1, 2, 3], [1, 2, 4])(f)[2], (f[2] - 3) / 4)
    np.testing.assert_allclose(T.Normalize(0, 255)(f), f / 255)
    np.random.seed(0)
    flips = {T.RandomHorizontalFlip()(a)[0, 0, 0] for _ in range(20)}
    assert flips == {0, 1}
    assert T.Compose()(a) is a


def test_picture_transforms():
    Image = pytest.importorskip("PIL.Image")
    image = Image.fromarray(np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3))
    array = T.ToArray()(image)
    assert array.shape == (3, 5, 7) and array.dtype == np.float32 and T.ToArray()(array) is array
    assert np.array_equal(np.asarray(T.ToPIL()(array.astype(np.uint8))), np.asarray(image))
    assert T.Resize((3, 4))(image).size == (3, 4) and T.Resize(6)(image).size == (6, 6)
    crop = np.asarray(T.CenterCrop((3, 3))(image))
    assert np.array_equal(crop, np.asarray(image)[1:4, 2:5])
    assert np.array_equal(T.ToArray()(T.Convert("BGR")(image)), array[::-1])
    assert T.Convert("L")(image).mode == "L"
    assert T.ToArray()(T.Convert("L")(image)).shape == (1, 5, 7)


# -- helpers ----------------------------------------------------------------------------------------


def test_dot_graph():
    x0, x1 = Variable(np.array(1.0), name="x0"), Variable(np.array(1.0), name="x1")
    y = x0 + x1
    y.name = "y"
    text = utils.get_dot_graph(y, verbose=False)
    assert text.startswith("digraph g {\n") and text.endswith("}")
    f = y.creator
    for line in (
        f'{id(y)} [label="y", color=orange, style=filled]',
        f'{id(f)} [label="Add", color=lightblue, style=filled, shape=box]',
        f"{id(x0)} -> {id(f)}",
        f"{id(f)} -> {id(y)}",
    ):
        assert line + "\n" in text
    assert 'label="y: () float64"' in utils.get_dot_graph(y)


def test_dot_graph_of_gradients():
    x = Variable(np.array(1.0))
    y = F.tanh(x) + F.sigmoid(x)
    y.backward(create_graph=True)
    text = utils.get_dot_graph(x.grad)
    for name in ("Mul", "Sub", "Tanh", "SigmoidGrad"):
        assert f'label="{name}"' in text
    # every arrow leads between nodes that are drawn
    drawn = {line.split(" [")[0] for line in text.splitlines() if "label" in line}
    ends = {end for line in text.splitlines() if "->" in line for end in line.split(" -> ")}
    assert ends <= drawn


def test_drawing_by_graphviz(tmp_path, monkeypatch):
    import shutil

    tool = tmp_path / "dot"
    tool.write_text('#!/bin/sh\ncat > "$4"\n')
    tool.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(tool))
    y = F.sin(Variable(np.array(1.0)))
    utils.plot_dot_graph(y, verbose=False, to_file=str(tmp_path / "graph.png"))
    assert (tmp_path / "graph.png").read_text() == utils.get_dot_graph(y, verbose=False)


def test_numerical_gradients():
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(utils.numerical_grad(lambda x: x**2, x), [2, 4])
    np.testing.assert_allclose(utils.numerical_grad(F.sin, Variable(np.array(0.0))), 1.0)
    assert x.tolist() == [1.0, 2.0]


def test_gradient_check_fails_when_it_should(capsys):
    class Wrong(dezero.Function):
        def forward(self, x):
            return x**2

        def backward(self, gy):
            return gy

    assert not utils.gradient_check(lambda x: Wrong()(x), np.array([3.0]))
    assert "FAILED" in capsys.readouterr().out


def test_small_helpers(capsys):
    a = np.arange(6.0).reshape(2, 3)
    assert utils.sum_to(a, (1, 3)).tolist() == [[3, 5, 7]] and utils.sum_to(a, (2, 1)).shape == (2, 1)
    assert utils.array_equal(Variable(a), a) and not utils.array_allclose(a, a + 1)
    np.testing.assert_allclose(utils.logsumexp(a), np.log(np.exp(a).sum(1, keepdims=True)))
    assert utils.pair(3) == (3, 3) and utils.pair((1, 2)) == (1, 2)
    with pytest.raises(ValueError):
        utils.pair((1, 2, 3))
    assert utils.get_conv_outsize(4, 3, 1, 1) == 4 and utils.get_deconv_outsize(4, 3, 2, 1) == 7
    assert utils.max_backward_shape(a, None) == [1, 1] and utils.max_backward_shape(a, 1) == [2, 1]
    gy = Variable(np.ones(3))
    assert utils.reshape_sum_backward(gy, (2, 3), 0, False).shape == (1, 3)
    assert utils.reshape_sum_backward(Variable(np.ones(2)), (2, 3), -1, False).shape == (2, 1)
    utils.show_progress(1, 5, 10)
    assert "50.00%" in capsys.readouterr().out


def test_get_file(tmp_path, monkeypatch, capsys):
    from rushlight import hub

    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))

    def fetch(url, path):
        with open(path, "w") as f:
            f.write(url)

    monkeypatch.setattr(hub, "download_url_to_file", fetch)
    path = utils.get_file("http://host/dir/name.txt")
    assert path == str(tmp_path / "cache" / "name.txt")
    assert (tmp_path / "cache" / "name.txt").read_text() == "http://host/dir/name.txt"
    assert "name.txt" in capsys.readouterr().out
    monkeypatch.setattr(hub, "download_url_to_file", None)
    assert utils.get_file("http://host/dir/name.txt") == path  # from the cache
    assert utils.cache_dir.endswith("cache")


# -- the GPU ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not NO_GPU, reason="this is about machines without one")
def test_without_cupy():
    assert cuda.gpu_enable is False
    assert cuda.get_array_module(np.ones(2)) is np is cuda.get_array_module(Variable(np.ones(2)))
    with pytest.raises(Exception, match=r"^CuPy cannot be loaded\. Install CuPy!$"):
        cuda.as_cupy(np.ones(2))
    with pytest.raises(Exception, match="Install CuPy"):
        Variable(np.ones(2)).to_gpu()
    a = np.ones(2)
    assert cuda.as_numpy(a) is a and cuda.as_numpy(Variable(a)) is a
    assert cuda.as_numpy(3.0).shape == () and cuda.as_numpy([1, 2]).tolist() == [1, 2]
    x = Variable(a)
    x.to_cpu()
    assert x.data is a
    Variable(None).to_gpu()
    loader = DataLoader(Numbers(), 3)
    loader.to_gpu()
    assert loader.gpu
    loader.to_cpu()
    loader.next()


@pytest.mark.skipif(NO_GPU, reason="no GPU")
def test_on_the_gpu():
    import cupy

    from rushlight.dezero import layers, optimizers
    from rushlight.dezero.models import MLP

    x = np.random.randn(8, 5).astype("f")
    t = np.arange(8) % 3
    model = MLP((4, 3))
    y = model(x)
    loss = F.softmax_cross_entropy(y, t)
    loss.backward()
    grads = [p.grad.data.copy() for p in model.params()]
    model.cleargrads()
    model.to_gpu()
    loss_gpu = F.softmax_cross_entropy(model(cuda.as_cupy(x)), cuda.as_cupy(t))
    assert cuda.get_array_module(loss_gpu) is cupy and utils.array_allclose(loss_gpu, loss)
    loss_gpu.backward()
    assert all(utils.array_allclose(p.grad, g) for p, g in zip(model.params(), grads))
    for rule in ("SGD", "MomentumSGD", "AdaGrad", "AdaDelta", "Adam"):
        getattr(optimizers, rule)().setup(model).update()
    v = Variable(cuda.as_cupy(x))
    z = F.sum(F.sin(v * 2 + 1) / 3 - v**2)
    z.backward(create_graph=True)
    assert utils.array_allclose(v.grad, 2 * np.cos(2 * x + 1) / 3 - 2 * x)
    conv = layers.Conv2d(2, 3)
    conv.to_gpu()
    pooled = F.pooling(conv(cupy.ones((1, 3, 8, 8), "f")), 2, 2)
    pooled.backward()
    assert conv.W.grad.shape == (2, 3, 3, 3)
    loader = DataLoader(Numbers(), 3, gpu=True)
    a, b = loader.next()
    assert isinstance(a, cupy.ndarray) and isinstance(b, cupy.ndarray)
    model.to_cpu()
    assert all(isinstance(p.data, np.ndarray) for p in model.params())
