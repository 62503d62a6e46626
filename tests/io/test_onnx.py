"""ONNX files of networks, run by onnxruntime: the zoo, recurrent layers, transformers, sizes left free."""

from __future__ import annotations

import sys
import weakref

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.onnx import OnnxExporterError, UnsupportedOperatorError
from rushlight.vision import models

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# A network of each family; tools/onnx_zoo.py checks all of them.
FAMILIES = ("alexnet", "lenet", "mlp", "mobilenet_v2", "resnet18", "resnet18_cifar", "resnext50_32x4d",
            "squeezenet1_0", "squeezenet1_1", "vgg11_bn")  # fmt: skip


def agree(net, args, free=None, others=(), tolerance=1e-5, **options):
    """Export, then compare every call with onnxruntime's; the protobuf."""
    names = [f"x{i}" for i in range(len(args))]
    axes = free and dict(zip(names, free))
    program = rl.onnx.export(net, args, input_names=names, dynamic_axes=axes, **options)
    session = program.session()
    was = net.training
    net.eval()
    for given in (args, *others):
        with rl.no_grad():
            wanted = rl.utils._pytree.tree_leaves(net(*given))
        known = [i.name for i in session.get_inputs()]
        found = session.run(None, {n: t.numpy() for n, t in zip(names, given) if n in known})
        assert len(found) == len(wanted)
        for ours, theirs in zip(wanted, found):
            assert tuple(ours.shape) == theirs.shape
            a, b = ours.numpy().astype(np.float64), theirs.astype(np.float64)
            assert np.abs(a - b).max() <= tolerance * max(np.abs(a).max(), 1e-30)
    net.train(was)
    return program.model_proto


def zoo(name: str, size: int):
    rl.manual_seed(0)
    if name == "mlp":
        return models.get_model(name, in_features=3 * size * size)
    net = models.get_model(name, num_classes=10)
    if name.startswith(("vgg", "alexnet")):  # 100 million weights in two layers take long to draw
        inner = 25088 if name.startswith("vgg") else 9216
        net.classifier = nn.Sequential(nn.Linear(inner, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, 10))
    return net


def settled(net, x):
    """Running averages that fit: with those of a new network, deep ones answer 1e-12."""
    net.train()
    with rl.no_grad():
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.momentum = None
        net(x)
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):  # dividing by almost nothing would magnify rounding
                m.running_var += m.running_var.mean()
    return net.eval()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_zoo(name: str) -> None:
    small = name in ("lenet", "mlp") or "cifar" in name
    size = 32 if small else 64
    net = settled(zoo(name, size), rl.randn(4, 3, size, size))
    proto = agree(net, (rl.randn(2, 3, size, size),), [{0: "batch"}], [(rl.randn(3, 3, size, size),)])
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert proto.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "batch"


FREE = [{0: "batch", 1: "time"}]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent(kind) -> None:
    net = kind(8, 12, 2, batch_first=True, bidirectional=True)
    proto = agree(net, (rl.randn(2, 5, 8),), FREE, [(rl.randn(1, 9, 8),), (rl.randn(4, 3, 8),)])
    assert sum(n.op_type == kind.__name__ for n in proto.graph.node) == 4


def test_recurrent_with_states_and_without_bias() -> None:
    net = nn.LSTM(4, 6, bias=False)

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net

        def forward(self, x, h, c):
            return self.inner(x, (h, c))

    states = (rl.randn(1, 2, 6), rl.randn(1, 2, 6))
    agree(Outer(), (rl.randn(5, 2, 4), *states))


class Words(nn.Module):
    """A small GPT: embedding, learnt positions, causal attention, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.places = nn.Parameter(rl.randn(1, 12, 16))
        self.block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True, activation="gelu")
        self.head = nn.Linear(16, 50)

    def forward(self, x):
        h = self.words(x) + self.places[:, : x.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
        return self.head(self.block(h, src_mask=mask, is_causal=True))


@pytest.mark.parametrize("opset", [13, 17, 18, 21])
def test_transformers(opset: int) -> None:
    rl.manual_seed(0)
    tokens = rl.randint(0, 50, (2, 7)), rl.randint(0, 50, (1, 11))
    proto = agree(Words(), tokens[:1], FREE, [tokens[1:]], opset_version=opset)
    assert proto.opset_import[0].version == opset
    both = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
    free = [{0: "batch", 1: "source"}, {0: "batch", 1: "target"}]
    agree(both, (rl.randn(2, 5, 16), rl.randn(2, 6, 16)), free, [(rl.randn(3, 4, 16), rl.randn(3, 2, 16))],
          opset_version=opset)  # fmt: skip


class Pictures(nn.Module):
    """Layers that the zoo does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ELU(), nn.ConvTranspose2d(8, 4, 4, 2, 1), nn.GroupNorm(2, 4),
            nn.InstanceNorm2d(4, affine=True), nn.PReLU(4), nn.Mish(), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
            nn.Upsample(scale_factor=2, mode="bilinear"), nn.Hardswish(), nn.Upsample(scale_factor=2), nn.SiLU(),
            nn.AdaptiveAvgPool2d((3, 2)), nn.LocalResponseNorm(2), nn.Flatten(), nn.LayerNorm(24), nn.Softplus(),
        )  # fmt: skip

    def forward(self, x):
        return self.body(x)


def test_layers() -> None:
    agree(Pictures(), (rl.randn(2, 3, 16, 16),), [{0: "batch"}], [(rl.randn(5, 3, 16, 16),)])


class Written(nn.Module):
    """In-place writes, through views and not: an ONNX graph has none."""

    def forward(self, x):
        y = x.clone()
        row = y[:, 0]
        y[:, 1:3] += 1
        y[..., 2] = x[..., 3]
        y.relu_()
        row.mul_(2)
        y[0].zero_()
        return y, row, x + 0


def test_writes_in_place() -> None:
    agree(Written(), (rl.randn(2, 4, 6),))


class Shapes(nn.Module):
    def forward(self, x):
        seen = F.scaled_dot_product_attention(x, x, x, is_causal=True)
        parts = rl.cat([x, x], 1).split(3, 1)
        picked = x[:, rl.tensor([0, 2])].gather(2, rl.zeros(x.shape[0], 2, 1, dtype=rl.int64))
        return (seen, parts[0], picked, x.flip(1).roll(1, 2).cumsum(1), x.max(-1), x.topk(2, -1)[0], x.var(-1),
                (x > 0).any(1), x.permute(2, 0, 1).reshape(-1, x.shape[0]), rl.where(x > 0, x, -x).clamp(0.1, 1),
                x.softmax(-1).log().neg().sum(-1, keepdim=True), rl.stack([x, x], 1).mean((1, 2)),
                x.triu(), F.pad(x, (1, 2)), x.repeat(1, 2, 1), (x * 3).to(rl.int64) % 2, x.norm(dim=-1))  # fmt: skip


def test_shapes_and_choices() -> None:
    agree(Shapes(), (rl.randn(2, 4, 6),), [{0: "n"}], [(rl.randn(5, 4, 6),)])


# -- what is asked for, and what cannot be had -----------------------------------------------------


def test_names_metadata_and_files(tmp_path) -> None:
    net = nn.Linear(3, 2)
    path = tmp_path / "a.onnx"
    rl.onnx.export(net, rl.randn(1, 3), path, input_names=["x"], output_names=["y"], metadata={"classes": "a,b"})
    read = onnx.load(path)
    onnx.checker.check_model(read)
    assert [i.name for i in read.graph.input] == ["x"] and [o.name for o in read.graph.output] == ["y"]
    assert {w.name for w in read.graph.initializer} == {"weight", "bias"}
    assert read.metadata_props[0].value == "a,b" and read.producer_name == "rushlight"
    with (tmp_path / "b.onnx").open("wb") as f:
        rl.onnx.export(net, (rl.randn(1, 3),), f, verify=True)
    assert (tmp_path / "b.onnx").stat().st_size > 100


def test_dynamic_shapes_and_keywords() -> None:
    class Two(nn.Module):
        def forward(self, x, *, scale):
            return x * scale

    program = rl.onnx.export(
        Two(), (rl.ones(2, 3),), kwargs={"scale": rl.ones(3)}, dynamic_shapes={"x": {0: "rows"}, "scale": None}
    )
    assert rl.equal(program(rl.ones(7, 3), rl.full((3,), 2.0))[0], rl.full((7, 3), 2.0))


def test_a_call_that_is_heard_frees_what_it_made() -> None:
    class Net(nn.Module):
        def forward(self, x):
            h = x * 2
            seen = weakref.ref(h._a)
            y = h.exp()
            del h
            assert seen() is None
            return y + rl.arange(3).mul_(2)  # depends on no input, and is computed once more

    agree(Net(), (rl.randn(2, 3),))


def test_the_mode_stays() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    net[1].eval()
    rl.onnx.export(net, (rl.randn(4, 2),))
    assert net.training and not net[1].training and net[0].weight.grad is None


class Reads(nn.Module):
    def forward(self, x):
        return x * 2 if float(x.sum()) > 0 else x


class Loops(nn.Module):
    def forward(self, x):
        total = x[:, 0]
        for i in range(1, x.shape[1]):
            total = total * 2 + x[:, i]
        return total


class Draws(nn.Module):
    def forward(self, x):
        return x + rl.randn_like(x) * x


class Sorts(nn.Module):
    def forward(self, x):
        return rl.linalg.svd(x)[1]


@pytest.mark.parametrize(
    "net, options, says",
    [
        (Reads(), {}, "reads a value that depends on its input"),
        (Loops(), {"dynamic_axes": {"input": {1: "n"}}}, "leave that size fixed"),
        (Draws(), {}, "random"),
        (Sorts(), {}, "linalg_svd cannot be written as ONNX yet"),
        (nn.ReLU(), {"opset_version": 4}, "opset_version=4: 13 to"),
        (nn.ReLU(), {"dynamic_axes": {"input": {5: "n"}}}, "has no axis 5"),
        (nn.ReLU(), {"input_names": ["a", "b"]}, "2 input names were given"),
        (nn.ReLU(), {"export_params": False}, "export_params=False"),
    ],
    ids=["read", "loop", "random", "svd", "opset", "axis", "names", "params"],
)
def test_refusals(net, options: dict, says: str) -> None:
    with pytest.raises(OnnxExporterError, match=says):
        rl.onnx.export(net, (rl.randn(3, 4),), **options)
    assert not rl.onnx.is_in_onnx_export()
    assert issubclass(UnsupportedOperatorError, OnnxExporterError)


def test_a_loop_over_a_fixed_size() -> None:
    agree(Loops(), (rl.randn(2, 4),), [{0: "rows"}], [(rl.randn(5, 4),)])


def test_without_the_package(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(OnnxExporterError, match=r"pip install 'rushlight\[onnx\]'"):
        rl.onnx.export(nn.ReLU(), (rl.randn(2),))


def test_weights_beside_the_model(tmp_path, monkeypatch) -> None:
    """Large weights lie in FILE.data; saving changes nothing, so that the program still runs and saves again."""
    from rushlight.onnx import program as saving

    rl.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(40, 50), nn.ReLU(), nn.Linear(50, 3)), rl.randn(2, 40)
    program = rl.onnx.export(net, (x,))
    whole = program.model_proto.SerializeToString()
    (tmp_path / "net.onnx.data").write_bytes(b"an older one" * 9999)
    for _ in range(2):
        program.save(tmp_path / "net.onnx", external_data=True)
    assert program.model_proto.SerializeToString() == whole
    assert 4 * 40 * 50 <= (tmp_path / "net.onnx.data").stat().st_size < 40_000
    assert (tmp_path / "net.onnx").stat().st_size < 4000
    onnx.checker.check_model(str(tmp_path / "net.onnx"), full_check=True)
    assert onnx.load(str(tmp_path / "net.onnx")).graph == _located(program.model_proto).graph
    wanted = net(x).detach().numpy()
    session = pytest.importorskip("onnxruntime").InferenceSession(str(tmp_path / "net.onnx"))
    (found,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    assert np.abs(found - wanted).max() < 1e-5
    monkeypatch.setattr(saving, "_LARGEST", 1000)  # as weights of more than protobuf can hold
    assert np.abs(program(x)[0].numpy() - wanted).max() < 1e-5
    program.save(tmp_path / "large.onnx")
    assert (tmp_path / "large.onnx.data").exists()
    monkeypatch.setattr(saving, "_MOST", 1000)
    with pytest.raises(OnnxExporterError, match="leave external_data out"):
        program.save(tmp_path / "no.onnx", external_data=False)
    with open(tmp_path / "no.onnx", "wb") as f, pytest.raises(OnnxExporterError, match="a path"):
        program.save(f)


def _located(model):
    """What `onnx.load` says of tensors that it has read from beside: that they lie inside."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for t in copy.graph.initializer:
        if len(t.raw_data) >= 1024:
            t.data_location = onnx.TensorProto.DEFAULT
    return copy
