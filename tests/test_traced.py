"""jit.trace and export: a run of a model as a program that is called, differentiated, saved and loaded."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

import rushlight as rl
from rushlight import nn

MODELS = {
    "linear": lambda: (nn.Linear(3, 4), (rl.randn(2, 3),)),
    "conv": lambda: (
        nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()
        ).eval(),
        (rl.randn(2, 1, 8, 8),),
    ),
    "transformer": lambda: (
        nn.TransformerEncoderLayer(8, 2, batch_first=True).eval(),
        (rl.randn(2, 5, 8),),
    ),
    "lstm": lambda: (nn.LSTM(3, 4), (rl.randn(5, 2, 3),)),
    "embedding": lambda: (
        nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3), nn.GELU()),
        (rl.tensor([1, 2]),),
    ),
    "attention": lambda: (nn.MultiheadAttention(8, 2).eval(), (rl.randn(5, 2, 8),) * 3),
    "resnet": lambda: (rl.vision.models.resnet18(num_classes=3).eval(), (rl.randn(1, 3, 32, 32),)),
}


def leaves(out):
    return [x for o in out for x in leaves(o)] if isinstance(out, (tuple, list)) else [out]


@pytest.mark.parametrize("name", MODELS)
def test_models_are_traced_saved_and_loaded(name):
    net, example = MODELS[name]()
    traced = rl.jit.trace(net, example)
    file = io.BytesIO()
    rl.jit.save(traced, file)
    file.seek(0)
    loaded = rl.jit.load(file)
    other = tuple(rl.randn_like(x) if x.is_floating_point() else x.flip(0) for x in example)
    want = leaves(net(*other))
    for program in (traced, loaded):
        assert [x.tolist() for x in leaves(program(*other))] == [x.tolist() for x in want]
    assert loaded.state_dict().keys() == traced.state_dict().keys()


def test_another_batch_size_and_gradients():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    traced = rl.jit.trace(net, rl.randn(2, 3))
    x = rl.randn(7, 3)
    assert traced(x).tolist() == net(x).tolist()
    traced(x).sum().backward()
    assert net[0].weight.grad is not None  # the parameters are the model's own


def test_functions_containers_and_attributes():
    @rl.jit.unused
    def fn(x, pair):
        first, second = pair["a"], pair["b"][0]
        return {"sum": x.T @ x + first, "parts": [second.real * 2, x[1:, None], x.to(rl.float64)]}

    traced = rl.jit.trace(fn, (rl.ones(2, 2), {"a": rl.ones(2, 2), "b": (rl.ones(1),)}))
    x, pair = rl.randn(2, 2), {"a": rl.randn(2, 2), "b": (rl.randn(1),)}
    want, got = fn(x, pair), traced(x, pair)
    assert got["sum"].tolist() == want["sum"].tolist()
    assert [p.tolist() for p in got["parts"]] == [p.tolist() for p in want["parts"]]
    assert got["parts"][2].dtype is rl.float64


def test_writes_are_part_of_the_program():
    def fn(x):
        y = x.clone()
        y[0] = 7.0
        y.mul_(2)
        return y + x

    traced = rl.jit.trace(fn, rl.zeros(3))
    assert traced(rl.ones(3)).tolist() == [15.0, 3.0, 3.0]


def test_a_trace_that_holds_a_value_is_refused():
    def reads(x):
        return x * float(x.sum())  # the host reads the value: the trace would keep it

    with pytest.raises(rl.jit.TracingCheckError, match="sanity checks"):
        rl.jit.trace(reads, rl.ones(2))
    assert rl.jit.trace(reads, rl.ones(2), check_trace=False)(rl.ones(2) * 3).tolist() == [6.0, 6.0]
    seen = []
    rl.jit.trace(lambda x: seen.append(rl.jit.is_tracing()) or x + 1, rl.ones(1), check_trace=False)
    assert seen == [True] and not rl.jit.is_tracing()


def test_files_name_public_functions_only():
    traced = rl.jit.trace(lambda x: rl.relu(x), rl.ones(2))
    file = io.BytesIO()
    traced.save(file)
    file.seek(0)
    data = rl.load(file)
    for old, new in (("torch.relu", "os.system"), ("torch.relu", "torch.load")):
        nodes = data["nodes"].replace(old, new)
        bad = io.BytesIO()
        rl.save({**data, "nodes": nodes}, bad)
        bad.seek(0)
        with pytest.raises(RuntimeError, match="no public function"):
            rl.jit.load(bad)
    nodes = json.loads(data["nodes"])
    nodes[1][:4] = [
        "call_function",
        "builtins.getattr",
        {"tuple": [{"node": 0}, "__class__"]},
        {"dict": []},
    ]
    bad = io.BytesIO()
    rl.save({**data, "nodes": json.dumps(nodes)}, bad)
    bad.seek(0)
    with pytest.raises(RuntimeError, match="may not read the attribute"):
        rl.jit.load(bad)
    other = io.BytesIO()
    rl.save({"a": 1}, other)
    other.seek(0)
    with pytest.raises(RuntimeError, match="no traced program"):
        rl.jit.load(other)
    with pytest.raises(NotImplementedError, match="was not traced"):
        rl.jit.save(nn.Linear(1, 1), io.BytesIO())


def test_loaded_where_the_classes_are_unknown(tmp_path):
    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(rl.ones(2))

        def forward(self, x):
            return (x * self.w).sum()

    rl.jit.save(rl.jit.trace(Mine(), rl.ones(2)), tmp_path / "m.pt")
    code = (
        "import rushlight as rl, sys\n"
        f"m = rl.jit.load({str(tmp_path / 'm.pt')!r})\n"
        "assert m(rl.tensor([2.0, 3.0])).item() == 5.0 and [n for n, _ in m.named_parameters()] == ['w']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_export():
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    program = rl.export.export(net, (rl.randn(2, 3),))
    x = rl.randn(2, 3)
    assert program.module()(x).tolist() == net(x).tolist()
    assert program.graph_signature.parameters == ("0.weight", "0.bias")
    assert [n.op for n in program.graph.nodes].count("call_function") == 2
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        program(x)
    with pytest.raises(ValueError, match="Expecting `args` to be a tuple"):
        rl.export.export(net, x)
    with pytest.raises(NotImplementedError, match="dynamic_shapes"):
        rl.export.export(net, (x,), dynamic_shapes={"x": {0: rl.export.Dim("n")}})
    file = io.BytesIO()
    rl.export.save(program, file)
    file.seek(0)
    assert rl.export.load(file).module()(x).tolist() == net(x).tolist()
