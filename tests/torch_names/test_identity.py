"""Under the alias `torch`, classes say PyTorch's modules, and are found there."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

import rushlight

torch = pytest.importorskip("torch")

PLACES = """
    torch torch.nn torch.nn.modules torch.nn.parameter torch.nn.utils.rnn torch.nn.utils.prune torch.nn.parallel
    torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.utils.data torch.distributions
    torch.distributions.constraints torch.distributions.transforms torch.autograd torch.autograd.graph torch.amp
    torch.fx torch.utils.hooks torch.profiler torch.futures torch.storage
""".split()
# Where ours differ: names of compiled classes, types of TorchScript that are not there, and parts of other files.
ELSEWHERE = {
    "CodeGen", "DisableTorchFunctionSubclass", "Event", "Future", "ProfilerActivity", "ScriptFunction", "ScriptModule",
    "StorageBase", "Stream", "SymBool", "SymFloat", "SymInt", "_InverseTransform", "_LRScheduler",
}  # fmt: skip


def alias(code: str) -> str:
    code = f"import rushlight\nrushlight.as_torch()\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1]


LIST = """
import importlib, json
told = {}
for place in PLACES:
    module = importlib.import_module(place)
    told[place] = {n: v.__module__ for n in dir(module) if isinstance(v := getattr(module, n, None), type)}
print(json.dumps(told))
"""


def test_classes_say_pytorchs_modules() -> None:
    ours = json.loads(alias(f"PLACES = {PLACES!r}\n{LIST}"))
    different = []
    for place in PLACES:
        names = ours[place]
        theirs = {n: v for n, v in vars(import_module(place)).items() if isinstance(v, type)}
        assert len(names.keys() & theirs.keys()) >= 1, place
        for name in sorted(names.keys() & theirs.keys() - ELSEWHERE):
            module = theirs[name].__module__
            if module != names[name] and not name.endswith("Type"):
                different.append((place, name, names[name], module))
    assert different == []


def test_every_class_is_found_where_it_says() -> None:
    told = alias("""
import importlib, pkgutil, torch, typing
for place in "nn.modules nn.utils optim utils.data distributions autograd amp fx".split():
    package = importlib.import_module("rushlight." + place)
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
from rushlight.base.spelling import _moved
lost = []
for cls in list(_moved):
    try:
        there = getattr(importlib.import_module(cls.__module__), cls.__qualname__, None)
    except ImportError:
        there = None
    if there is not cls:
        lost.append(f"{_moved[cls]}.{cls.__qualname__} as {cls.__module__}")
for cls in (torch.utils.data.TensorDataset, torch.utils.data.Subset, torch.distributions.transforms.Transform):
    typing.get_type_hints(cls)
print(len(_moved) > 300, lost)
""")
    assert told == "True []"


def test_pickles_name_them_and_are_read_back() -> None:
    told = alias("""
import copy, io, pickle, pickletools, inspect, typing
import torch
from torch import nn
net = nn.Sequential(nn.Linear(2, 3), nn.MultiheadAttention(4, 2), nn.ReLU())
opt = torch.optim.Adam(net.parameters())
text = pickle.dumps([net, nn.Linear, torch.optim.lr_scheduler.StepLR(opt, 1)])
again = pickle.loads(text)
assert again[1] is nn.Linear and type(again[0][1]) is nn.MultiheadAttention
assert type(copy.deepcopy(net)) is nn.Sequential
file = io.BytesIO()
torch.save(net, file)
file.seek(0)
assert type(torch.load(file, weights_only=False)[0]) is nn.Linear
with torch.serialization.safe_globals([nn.Linear, nn.Sequential, nn.MultiheadAttention, nn.ReLU,
                                       nn.modules.linear.NonDynamicallyQuantizableLinear]):
    file.seek(0)
    torch.load(file)
assert "class Linear" in inspect.getsource(nn.Linear)
typing.get_type_hints(nn.Module), typing.get_type_hints(nn.Linear)
print(b"torch.nn.modules.linear" in text, b"rushlight.nn.modules" not in text, repr(nn.Linear), repr(torch.optim.Adam))
""")
    assert told == ("True True <class 'torch.nn.modules.linear.Linear'> <class 'torch.optim.adam.Adam'>")


def test_compiled_steps_are_still_recorded() -> None:
    told = alias("""
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
@torch.compile(fullgraph=True)
def step(x):
    opt.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    opt.step()
    return loss
losses = [step(torch.ones(3, 4)).item() for _ in range(5)]
print(losses[0] > losses[-1])
""")
    assert told == "True"


@pytest.mark.parametrize("lib", [rushlight, torch], ids=["rushlight", "torch"])
def test_a_tensors_hash_is_its_identity(lib) -> None:
    t, p = lib.ones(2), lib.nn.Parameter(lib.ones(2))
    assert hash(t) == id(t) and hash(p) == id(p)
    assert {t: 1}[t] == 1 and p in {p} and t not in {p}
    assert lib.Tensor.__hash__(t) == id(t)
