"""Files both ways with PyTorch, sharing kept, hostile and damaged ones refused, writes whole or not there."""

from __future__ import annotations

import io
import os
import pickle
import random
import resource
import signal
import subprocess
import sys
import time
import warnings
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.io import CorruptFileError, UntrustedFileWarning

DTYPES = [
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "bool", "complex64", "complex128",
]  # fmt: skip


def sample() -> dict:
    x = rl.arange(12.0).reshape(3, 4)
    return {
        "x": x,
        "row": x[1],
        "turned": x.T,
        "empty": rl.empty(0, 3),
        "scalar": rl.tensor(2.5),
        "parameter": nn.Parameter(x[0].clone()),
        "grad": rl.ones(2, requires_grad=True),
        "size": x.shape,
        "dtype": rl.float64,
        "device": rl.device("cpu"),
        "nested": [1, 2.5, None, "text", (True, b"bytes"), {"k": {3, 4}}, 2**70],
        "state": nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).state_dict(),
    }


def test_round_trip_keeps_values_and_sharing(tmp_path):
    rl.save(sample(), tmp_path / "a.pth")
    back = rl.load(tmp_path / "a.pth")
    assert rl.equal(back["x"], sample()["x"])
    back["x"][1, 0] = 100
    assert back["row"][0] == 100 and back["turned"][0, 1] == 100
    assert isinstance(back["parameter"], nn.Parameter) and back["grad"].requires_grad
    assert back["size"] == (3, 4) and back["dtype"] is rl.float64 and back["device"] == rl.device("cpu")
    assert back["nested"] == sample()["nested"]
    assert isinstance(back["state"], OrderedDict) and back["state"]._metadata[""]["version"] == 1


def test_torch_reads_ours(tmp_path):
    torch = pytest.importorskip("torch")
    rl.save(sample(), tmp_path / "a.pth")
    for weights_only in (True, False):
        t = torch.load(tmp_path / "a.pth", weights_only=weights_only)
        assert torch.equal(t["x"], torch.arange(12.0).reshape(3, 4))
        assert t["row"].data_ptr() == t["x"].data_ptr() + 16 and t["turned"].stride() == (1, 4)
        assert t["size"] == torch.Size([3, 4]) and t["dtype"] is torch.float64
        assert isinstance(t["parameter"], torch.nn.Parameter) and t["grad"].requires_grad
    torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).load_state_dict(t["state"])


@pytest.mark.parametrize("legacy", [False, True])
def test_we_read_torchs(tmp_path, legacy):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(5, 3)).sum().backward()
    optimizer.step()
    x = torch.arange(12.0).reshape(3, 4)
    file = tmp_path / "b.pth"
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "x": x, "row": x[1]}
    torch.save(saved, file, _use_new_zipfile_serialization=not legacy)
    ours = rl.load(file)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(ours["model"][name].numpy(), value.numpy())
    assert ours["row"].data_ptr() == ours["x"].data_ptr() + 16
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    net.load_state_dict(ours["model"])
    rl.optim.Adam(net.parameters()).load_state_dict(ours["optimizer"])


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_both_ways(tmp_path, name):
    torch = pytest.importorskip("torch")
    ours = rl.tensor([0, 1, 2, 3]).to(getattr(rl, name))
    rl.save(ours, tmp_path / "o.pth")
    theirs = torch.load(tmp_path / "o.pth")
    assert theirs.dtype is getattr(torch, name)
    torch.save(theirs, tmp_path / "t.pth")
    assert rl.equal(rl.load(tmp_path / "t.pth"), ours)


def test_records_are_stored_and_aligned(tmp_path):
    rl.save(sample(), tmp_path / "a.pth")
    raw = (tmp_path / "a.pth").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.pth") as z:
        for info in z.infolist():
            assert info.compress_type == zipfile.ZIP_STORED and info.filename.startswith("a/")
            header = raw[info.header_offset : info.header_offset + 30]
            start = info.header_offset + 30 + int.from_bytes(header[26:28], "little")
            start += int.from_bytes(header[28:30], "little")
            assert start % 64 == 0, info.filename


def test_whole_models_need_weights_only_false(tmp_path):
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    rl.save(net, tmp_path / "net.pth")
    with pytest.raises(CorruptFileError, match="not on the list of safe names"):
        rl.load(tmp_path / "net.pth")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntrustedFileWarning)
        back = rl.load(tmp_path / "net.pth", weights_only=False)
    x = rl.randn(2, 3)
    assert rl.equal(back(x), net(x))


def test_map_location(tmp_path):
    rl.save(rl.ones(3), tmp_path / "a.pth")
    raw = (tmp_path / "a.pth").read_bytes()
    gpu = raw.replace(b"X\x03\x00\x00\x00cpu", b"X\x03\x00\x00\x00c:0")  # a device that is no device
    (tmp_path / "bad.pth").write_bytes(gpu)
    with pytest.raises(CorruptFileError):
        rl.load(tmp_path / "bad.pth")
    assert rl.load(tmp_path / "a.pth", map_location="meta").device.type == "meta"
    seen = []
    rl.load(tmp_path / "a.pth", map_location=lambda storage, location: seen.append(location) or storage)
    assert seen == ["cpu"]


def cuda_file(path) -> None:
    """A file as a machine with a GPU would write it."""
    from rushlight.io import pickler

    before = pickler._StorageRef.__init__

    def on_cuda(self, key, dtype_name, location, numel):
        before(self, key, dtype_name, "cuda:0", numel)

    pickler._StorageRef.__init__ = on_cuda
    try:
        rl.save(rl.ones(3), path)
    finally:
        pickler._StorageRef.__init__ = before


def test_file_from_a_gpu(tmp_path):
    cuda_file(tmp_path / "g.pth")
    for place in ("cpu", rl.device("cpu"), {"cuda:0": "cpu"}, lambda s, l: s):
        assert rl.load(tmp_path / "g.pth", map_location=place).device.type == "cpu"
    if not rl.cuda.is_available():
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
            rl.load(tmp_path / "g.pth")


# -- hostile files ---------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.system, ("echo hacked >&2; touch hacked",)


def zipped(pickled: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as z:
        z.writestr("archive/data.pkl", pickled)
        z.writestr("archive/version", "3\n")
    buffer.seek(0)
    return buffer


HOSTILE = {
    "system": pickle.dumps(Evil(), 2),
    "eval": b"\x80\x02c__builtin__\neval\nX\x04\x00\x00\x001+1 \x85R.",
    "getattr": b"\x80\x02cbuiltins\ngetattr\n.",
    "append to a size": b"\x80\x02ctorch\nSize\n)\x85RK\x01a.",
    "setitem on a list": b"\x80\x02]K\x00K\x01s.",
    "call a dtype": b"\x80\x02ctorch\nfloat32\n)R.",
    "build a list": b"\x80\x02]}b.",
    "memo that is not there": b"\x80\x02h\x07.",
    "two results": b"\x80\x02K\x01K\x02.",
    "no end": b"\x80\x02]]]",
    "claims 2 GB of text": b"\x80\x02X\xff\xff\xff\x7fabc.",
    "unknown opcode": b"\x80\x02\xff.",
    "deep nesting": b"\x80\x02" + b"]" * 200000 + b"a" * 199999 + b".",
    "huge storage": b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03"
    b"\x00\x00\x00cpu\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x0ftQ.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorruptFileError):
        rl.load(zipped(HOSTILE[name]))
    assert not (tmp_path / "hacked").exists()


def test_other_files_are_refused(tmp_path):
    for content in (b"", b"hello", b"PK\x03\x04" + b"\0" * 50, pickle.dumps({"a": 1}), b"\x80\x02}."):
        (tmp_path / "x.pth").write_bytes(content)
        with pytest.raises(CorruptFileError):
            rl.load(tmp_path / "x.pth")
    with pytest.raises(FileNotFoundError):
        rl.load(tmp_path / "none.pth")


def test_tensor_bounds_are_checked(tmp_path):
    good = io.BytesIO()
    rl.save(rl.arange(6.0), good)
    for old, new in ((b"K\x06\x85", b"K\x09\x85"), (b"QK\x00K\x06", b"QK\x03K\x06")):
        raw = good.getvalue()
        assert old in raw
        with zipfile.ZipFile(io.BytesIO(raw)) as z:
            pickled = z.read("archive/data.pkl").replace(old, new)
            records = {n: z.read(n) for n in z.namelist()}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as z:
            for n, data in records.items():
                z.writestr(n, pickled if n.endswith("data.pkl") else data)
        buffer.seek(0)
        with pytest.raises(CorruptFileError, match="beyond its storage"):
            rl.load(buffer)


def mutations(raw: bytes, count: int, seed: int):
    rng = random.Random(seed)
    for _ in range(count):
        data = bytearray(raw)
        kind = rng.random()
        if kind < 0.6:
            for _ in range(rng.randint(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
        elif kind < 0.75:
            del data[rng.randrange(len(data)) :]
        elif kind < 0.9:
            at = rng.randrange(len(data))
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 9)))
        else:
            at = rng.randrange(len(data))
            del data[at : at + rng.randint(1, 40)]
        yield bytes(data)


def fuzz(read, raw: bytes, count: int, seed: int, allowed: tuple = (CorruptFileError,)) -> int:
    """Feed mutated bytes; anything but success or the documented error fails the test."""
    refused = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in mutations(raw, count, seed):
        try:
            read(data)
        except allowed:
            refused += 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # kilobytes
    return refused


def test_fuzz_zip():
    buffer = io.BytesIO()
    rl.save({"w": rl.ones(5, 3), "b": rl.zeros(3), "meta": {"epoch": 3, "name": "x"}}, buffer)
    # device names that a mutation spells differently raise PyTorch's error about CUDA
    assert fuzz(lambda d: rl.load(io.BytesIO(d), map_location="cpu"), buffer.getvalue(), 5000, 1) > 1000


def test_fuzz_pickle_inside_a_sound_zip():
    buffer = io.BytesIO()
    rl.save({"w": rl.ones(5, 3), "b": nn.Parameter(rl.zeros(3)), "s": nn.Linear(2, 2).state_dict()}, buffer)
    with zipfile.ZipFile(buffer) as z:
        records = {n: z.read(n) for n in z.namelist()}

    def read(pickled: bytes) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            for n, data in records.items():
                z.writestr(n, pickled if n.endswith("data.pkl") else data)
        out.seek(0)
        rl.load(out, map_location="cpu")

    assert fuzz(read, records["archive/data.pkl"], 4000, 2) > 1000


def test_fuzz_safetensors(tmp_path):
    st = pytest.importorskip("safetensors")
    assert st
    from rushlight.io import safetensors

    raw = safetensors.save({"w": rl.ones(5, 3), "b": rl.zeros(3, dtype=rl.bfloat16)})
    file = tmp_path / "x.safetensors"

    def read(data: bytes) -> None:
        file.write_bytes(data)
        safetensors.load_file(file)

    assert fuzz(read, raw, 2000, 3) > 500


def test_safetensors_round_trip(tmp_path):
    pytest.importorskip("safetensors")
    from rushlight.io import safetensors

    tensors = {name: rl.tensor([0, 1, 2]).to(getattr(rl, name)) for name in DTYPES if name != "complex128"}
    safetensors.save_file(tensors, tmp_path / "x.safetensors", {"who": "us"})
    back = safetensors.load_file(tmp_path / "x.safetensors")
    for name, t in tensors.items():
        assert back[name].dtype is t.dtype and rl.equal(back[name], t)
    assert safetensors.metadata(tmp_path / "x.safetensors") == {"who": "us"}


# -- writes ----------------------------------------------------------------------------------------


def test_killed_while_saving_leaves_a_whole_file(tmp_path):
    """kill -9 at random moments, 200 times over several writers: the file always loads."""
    path = tmp_path / "model.pth"
    rl.save({"i": rl.zeros(20000)}, path)
    rng = random.Random(0)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    kills = 0
    while kills < 200:
        child = subprocess.Popen([sys.executable, "-c", FORKING, str(path)], stdout=subprocess.PIPE, env=env)
        assert child.stdout is not None
        for line in child.stdout:
            pid = int(line)
            time.sleep(rng.uniform(0.0, 0.012))
            os.kill(pid, signal.SIGKILL)
            kills += 1
            value = rl.load(path)["i"]
            assert value.numel() == 20000 and bool((value == value[0]).all())
            if kills % 50 == 0:
                break
        child.kill()
        child.wait()
        child.stdout.close()


# A parent that forks one writer after the other: starting Python 200 times would take minutes.
FORKING = """
import os, sys, rushlight as rl
path = sys.argv[1]
rl.save({"i": rl.zeros(20000)}, path)
me = os.getpid()
while True:
    pid = os.fork()
    if pid == 0:
        i = 0
        while os.getppid() == me:  # the test kills this parent, and a writer would go on for ever
            i += 1
            rl.save({"i": rl.full((20000,), float(i))}, path)
        os._exit(0)
    print(pid, flush=True)
    os.waitpid(pid, 0)
"""


def test_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.pth"
    rl.save({"w": rl.ones(10)}, path)
    old = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignore = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(OSError):
            rl.save({"w": rl.ones(1_000_000)}, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignore)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["model.pth"]


def test_unpicklable_object_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.pth"
    rl.save({"w": rl.ones(10)}, path)
    old = path.read_bytes()
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        rl.save({"f": lambda: 0}, path)
    assert path.read_bytes() == old
    with pytest.raises(RuntimeError, match="does not exist"):
        rl.save({}, tmp_path / "no" / "model.pth")


FILES = {  # what a program leaves in `r`
    "float8": "x = torch.arange(8.).to(torch.float8_e5m2)\nr = again([x, x[1::2]])[1].float()",
    "meta": "x = torch.empty(20000, 300000, device='meta', requires_grad=True).t()\n"
    "y = again({'x': x, 'y': x[1:]})\nr = [y['x'].shape, y['x'].stride(), y['x'].device.type, y['y'].shape, y['x'].requires_grad]",
    "a tensor and its storage": "x = torch.arange(4.)\na, b, c, d = again([x, x.storage(), x[1:], x.storage()])\na.fill_(5)\n"
    "r = [b.tolist(), c, d.tolist(), type(b).__name__, b.dtype is torch.float32]",
    "bytes": "x = torch.arange(2.)\ny = again(x.untyped_storage())\nr = [len(y), type(y).__name__, y.tolist()]",
    "two dtypes": "x = torch.ones(3, dtype=torch.complex128)\nagain([x, x.imag])",
    "two dtypes of storages": "x = torch.ones(3, dtype=torch.complex128)\nagain([x.storage(), x.imag])",
    "one part": "r = again(torch.ones(3, dtype=torch.complex128).imag)",
    "a storage's elements": "r = [torch.tensor(torch.arange(3.).storage()), torch.zeros(0).set_(torch.arange(3.).storage())]",
    "another dtype's storage": "torch.zeros(0, dtype=torch.float64).set_(torch.arange(3.).storage())",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_files_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    outcomes = []
    for lib in (torch, rl):

        def again(value, lib=lib):
            file = io.BytesIO()
            lib.save(value, file)
            file.seek(0)
            return lib.load(file, weights_only=False)

        space = {"torch": lib, "again": again}
        try:
            exec(FILES[name], space)
            outcomes.append(str(space["r"]).replace("rushlight.", "torch."))
        except RuntimeError as error:
            outcomes.append(" ".join(str(error).split()[:5]))
    assert outcomes[1] == outcomes[0]
