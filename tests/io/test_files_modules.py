"""`weights_only=False` loads whatever `save` wrote, whole modules both ways with PyTorch; `safe_globals`."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import enum
import importlib
import inspect
import io
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.base.spelling import ours, theirs
from rushlight.io import CorruptFileError, UntrustedFileWarning
from rushlight.utils.data import TensorDataset


@dataclasses.dataclass
class Options:
    rate: float
    names: list


class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.options = Options(0.1, ["a"])

    def forward(self, x):
        return self.inner(x).relu()


def saved(obj) -> io.BytesIO:
    buffer = io.BytesIO()
    rl.save(obj, buffer)
    buffer.seek(0)
    return buffer


def trusting(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedFileWarning)
        return rl.load(file, weights_only=False)


def optimizer() -> optim.Optimizer:
    layer = nn.Linear(2, 1)
    made = optim.Adam(layer.parameters(), lr=0.25)
    layer(rl.ones(3, 2)).sum().backward()
    made.step()
    return made


PLAIN = {
    "namespace": argparse.Namespace(lr=0.1, layers=[1, 2]),
    "array": np.arange(6.0).reshape(2, 3),
    "array of text": np.array(["a", "bc"]),
    "scalar": np.float32(2.5),
    "dtype": np.dtype("int16"),
    "dataclass": Options(0.5, ["x"]),
    "enum": Colour.RED,
    "namedtuple": Point(1, 2),
    "path": pathlib.PurePosixPath("/some/where"),
    "range": range(2, 9, 3),
    "slice": {"s": 1, "frozen": frozenset({1})},
    "ordered": collections.OrderedDict(a=1),
    "memory format": rl.channels_last,
    "layout": rl.strided,
    "function": rl.relu,
    "class": nn.Linear,
}


@pytest.mark.parametrize("name", PLAIN)
def test_plain_objects_come_back(name: str) -> None:
    back = trusting(saved(PLAIN[name]))
    if isinstance(PLAIN[name], np.ndarray):
        np.testing.assert_array_equal(back, PLAIN[name])
    else:
        assert back == PLAIN[name] and type(back) is type(PLAIN[name])


def test_our_objects_come_back() -> None:
    x = rl.arange(4.0)
    data = trusting(saved(TensorDataset(x, x * 2)))
    assert rl.equal(data[2][1], x[2] * 2)
    normal = trusting(saved(rl.distributions.Normal(rl.zeros(2), rl.ones(2))))
    assert rl.equal(normal.log_prob(x[:2]), rl.distributions.Normal(rl.zeros(2), rl.ones(2)).log_prob(x[:2]))
    coordinates = rl.sparse_coo_tensor([[0, 1], [1, 0]], [3.0, 4.0], (2, 2))
    for sparse in (coordinates, coordinates.to_sparse_csr(), coordinates.to_sparse_csc()):
        assert rl.equal(trusting(saved(sparse)).to_dense(), sparse.to_dense())
        back = rl.load(saved(sparse))  # by default too
        assert back.layout is sparse.layout and rl.equal(back.to_dense(), sparse.to_dense())
    again = trusting(saved(optimizer()))
    assert again.param_groups[0]["lr"] == 0.25 and len(again.state) == 2
    again.step()
    net = Net()
    back = trusting(saved({"net": net, "best": 0.5}))["net"]
    assert rl.equal(back(rl.ones(1, 3)), net(rl.ones(1, 3))) and back.options == net.options
    schedule = optim.lr_scheduler.StepLR(optimizer(), 3)
    assert trusting(saved(schedule)).step_size == 3
    generator = rl.Generator().manual_seed(5)
    assert rl.equal(rl.rand(3, generator=trusting(saved(generator))), rl.rand(3, generator=generator))


def test_attributes_and_subclasses_of_tensors() -> None:
    p = nn.Parameter(rl.ones(2))
    p.tag = "mine"
    x = rl.ones(3)
    x.note = [1, 2]
    back = rl.load(saved({"p": p, "x": x}))
    assert back["p"].tag == "mine" and back["x"].note == [1, 2] and back["p"].requires_grad
    y = rl.ones(2, requires_grad=True) * 2
    assert rl.load(saved(y)).tolist() == [2.0, 2.0]


def test_trust_is_told_once_and_loudly() -> None:
    from rushlight.io import pth as reader

    before, reader._told = reader._told, False
    try:
        with pytest.warns(UntrustedFileWarning, match="can execute any code") as seen:
            rl.load(saved({"a": 1}), weights_only=False)
        assert seen[0].filename == __file__ and "\n" not in str(seen[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rl.load(saved({"a": 1}), weights_only=False)
            rl.load(saved({"a": 1}))
    finally:
        reader._told = before


class Evil:
    def __reduce__(self):
        return os.mkdir, ("made by a file",)


def test_the_default_names_no_function(tmp_path, monkeypatch) -> None:
    """Not even ours: a hook that is `save` would write a file when `state_dict()` is called."""
    monkeypatch.chdir(tmp_path)
    for obj in (Evil(), rl.save, nn.functional.relu, {"hook": rl.load}, nn.Linear, optim.Adam, len):
        with pytest.raises(CorruptFileError, match="not on the list of safe names"):
            rl.load(saved(obj))
    assert os.listdir() == []
    trusting(saved(Evil()))
    assert os.listdir() == ["made by a file"]  # that is what trust means


def test_damaged_files_of_the_trusting_mode() -> None:
    raw = saved(Net()).getvalue()
    at = raw.index(b"data.pkl") + 200
    for content in (raw[: len(raw) // 2], raw[:at] + b"\0" * 40 + raw[at + 40 :], b"\x80\x02]."):
        with pytest.raises((CorruptFileError, AttributeError, ImportError)):
            trusting(io.BytesIO(content))


# -- names ------------------------------------------------------------------------------------------


def test_safe_globals_match_files_of_both() -> None:
    linear = nn.Linear(2, 3)
    with rl.serialization.safe_globals([nn.Linear]):
        assert rl.equal(rl.load(saved(linear)).weight, linear.weight)
        assert rl.serialization.get_safe_globals() == [nn.Linear]
    with pytest.raises(CorruptFileError):
        rl.load(saved(linear))
    with rl.serialization.safe_globals([Options]):
        assert rl.load(saved(Options(1.0, []))) == Options(1.0, [])
    with rl.serialization.safe_globals([(Options, "elsewhere.Settings")]):
        raw = pickle.dumps(Options(1.0, []), 2).replace(f"{__name__}\nOptions\n".encode(), b"elsewhere\nSettings\n")
        from test_files_hostile import zipped

        assert rl.load(io.BytesIO(zipped(raw))) == Options(1.0, [])


PUBLIC = (
    "", "nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data", "distributions",
    "distributions.constraints", "distributions.transforms", "nn.parameter", "nn.functional", "nn.init",
)  # fmt: skip


@pytest.mark.parametrize("place", PUBLIC)
def test_every_name_written_is_one_that_pytorch_has(place: str) -> None:
    pytest.importorskip("torch")
    dot = "." if place else ""
    mine = importlib.import_module(f"rushlight{dot}{place}")
    other = importlib.import_module(f"torch{dot}{place}")
    wrong = []
    for name in dir(mine):
        obj, twin = getattr(mine, name, None), getattr(other, name, None)
        if (
            name.startswith("_")
            or twin is None
            or getattr(obj, "not_yet", False)  # nothing is an instance of it
            or not (inspect.isclass(obj) or inspect.isfunction(obj))
        ):
            continue
        if not obj.__module__.startswith("rushlight") or "<" in obj.__qualname__:
            continue
        module, attr = theirs(obj)
        try:
            found = getattr(importlib.import_module(module), attr)
        except (ImportError, AttributeError):
            found = None
        known = inspect.isclass(obj) and getattr(other, name) is not found
        if found is None or known:
            wrong.append((name, module, attr))
        elif ours(module, attr) is not obj:
            wrong.append((name, "back", ours(module, attr)))
    assert [w for w in wrong if w[0] not in NOT_WRITTEN] == []


# Types that files describe by something else, or that nobody can pickle.
NOT_WRITTEN = {
    "DisableTorchFunctionSubclass",
    "Event",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "StorageBase",
    "Stream",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tensor",
    "dtype",
    "device",
    "Size",
    "memory_format",
    "layout",
    "Generator",
}

LAYERS = {
    "linear": lambda n: n.Sequential(n.Linear(3, 4), n.ReLU(), n.LayerNorm(4), n.Dropout(0.5)),
    "conv": lambda n: n.Sequential(
        n.Conv2d(3, 4, 3, padding=1), n.BatchNorm2d(4), n.SiLU(), n.MaxPool2d(2), n.Flatten(),
        n.Linear(16, 2), n.Softmax(1),
    ),
    "lstm": lambda n: n.LSTM(3, 4, 2, batch_first=True),
    "gru cell": lambda n: n.GRUCell(3, 4),
    "transformer": lambda n: n.TransformerEncoderLayer(8, 2, 16, batch_first=True),
    "attention": lambda n: n.MultiheadAttention(8, 2),
    "embedding": lambda n: n.ModuleDict({"e": n.Embedding(5, 3), "l": n.ModuleList([n.GELU()])}),
    "loss": lambda n: n.ModuleList([n.CrossEntropyLoss(), n.TripletMarginLoss(), n.BCEWithLogitsLoss()]),
    "parameters": lambda n: n.ParameterList([]),
}  # fmt: skip
INPUTS = {"linear": (2, 3), "conv": (2, 3, 4, 4), "lstm": (2, 5, 3), "gru cell": (2, 3), "transformer": (2, 3, 8)}


def first(out):
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.parametrize("name", LAYERS)
def test_whole_modules_both_ways(name: str, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    mine = LAYERS[name](nn).eval()
    path = tmp_path / "net.pth"
    rl.save(mine, path)
    other = torch.load(path, weights_only=False)
    assert type(other).__module__.startswith("torch.nn")
    for key, value in mine.state_dict().items():
        np.testing.assert_array_equal(other.state_dict()[key].numpy(), value.numpy())
    torch.save(other, path)
    back = trusting(path)
    assert type(back) is type(mine)
    if name in INPUTS:
        x = np.random.default_rng(0).random(INPUTS[name], np.float32)
        a = first(mine(rl.from_numpy(x))).detach().numpy()
        with torch.no_grad():
            b = first(other(torch.from_numpy(x))).numpy()
        np.testing.assert_allclose(a, b, atol=1e-5)
        np.testing.assert_array_equal(a, first(back(rl.from_numpy(x))).detach().numpy())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adamax", "Adagrad"])
def test_whole_optimizers_both_ways(name: str, tmp_path) -> None:
    torch = pytest.importorskip("torch")
    rl.manual_seed(0)
    layer = nn.Linear(2, 2)
    mine = getattr(optim, name)(layer.parameters(), lr=0.01)
    layer(rl.ones(1, 2)).sum().backward()
    mine.step()
    rl.save({"net": layer, "optimizer": mine}, tmp_path / "o.pth")
    both = torch.load(tmp_path / "o.pth", weights_only=False)
    assert type(both["optimizer"]) is getattr(torch.optim, name)
    both["net"](torch.ones(1, 2)).sum().backward()
    both["optimizer"].step()  # its parameters are those of the network
    torch.save(both, tmp_path / "t.pth")
    back = trusting(tmp_path / "t.pth")
    layer.zero_grad()
    layer(rl.ones(1, 2)).sum().backward()
    mine.step()
    np.testing.assert_allclose(back["net"].weight.detach().numpy(), layer.weight.detach().numpy(), rtol=1e-6, atol=1e-7)
    back["optimizer"].step()


def test_a_killed_writers_file_is_collected(tmp_path) -> None:
    script = (
        "import os, sys, signal, rushlight as rl\n"
        "from rushlight.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as f:\n"
        "    f.write(b'half'); f.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "m.pth"
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script, str(path)], timeout=600)
        assert len(list(tmp_path.iterdir())) == 1  # the second collects what the first has left
    with rl.io.atomic_write(path) as writing:
        writing.write(b"slow")
        rl.save({"a": 1}, path)  # another writer of the same file leaves the living one alone
    assert [p.name for p in tmp_path.iterdir()] == ["m.pth"] and path.read_bytes() == b"slow"


@pytest.mark.filterwarnings("ignore")
def test_a_bare_storage_is_saved_and_read_here_and_in_torch():
    """It was written in a way that no reader took back."""
    torch = pytest.importorskip("torch")
    x = rl.tensor([1.0, 2.5, -3.0])
    for legacy in (False, True):
        file = io.BytesIO()
        held = {"bytes": x.clone().untyped_storage(), "numbers": x.storage(), "tensor": x}
        rl.save(held, file, _use_new_zipfile_serialization=not legacy)
        for only in (True, False):
            file.seek(0)
            back = rl.load(file, weights_only=only)
            assert back["numbers"].tolist() == back["tensor"].tolist() == x.tolist()
            assert bytes(back["bytes"].tolist()) == x.numpy().tobytes()
        file.seek(0)
        found = torch.load(file)
        assert found["numbers"].tolist() == x.tolist() and found["tensor"].tolist() == x.tolist()
        assert bytes(found["bytes"].tolist()) == x.numpy().tobytes()
