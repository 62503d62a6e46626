"""More cases for test_compile_sound: modules, and the world outside of the function."""

from __future__ import annotations

import importlib
import os
import random
import sys
import tempfile
import threading
import time
import types

import numpy as np

import rushlight as torch
from rushlight import nn
from sound_cases import CASES, case, late, small_net

# -- modules -------------------------------------------------------------------------------------------


def _net_case(name, change, make=small_net, kind="program"):
    def closure():
        net = make()
        return (lambda x: net(x)), lambda i: change(net) if i == 4 else None

    CASES[f"net_{name}"] = (closure, kind)


def _replace_hook(net):
    net.handle.remove()
    net.register_forward_hook(lambda m, a, out: out * 3)


def _hooked():
    net = small_net()
    net.handle = net.register_forward_hook(lambda m, a, out: out * 2)
    return net


def _replaced_in_table(net):
    (key,) = net._forward_hooks
    net._forward_hooks[key] = lambda m, a, out: out * 9
    net.train(net.training)


_net_case("hook_replaced", _replace_hook, _hooked)
_net_case("hook_replaced_in_the_table", _replaced_in_table, _hooked)
_net_case("hook_added", lambda n: n[0].register_forward_hook(lambda m, a, out: out + 1))
_net_case("pre_hook", lambda n: n[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,)))
_net_case("forward_patched", lambda n: setattr(n[1], "forward", torch.tanh))
_net_case("forward_of_the_whole", lambda n: setattr(n, "forward", lambda x: x * 5))
_net_case("layer_replaced", lambda n: n.__setitem__(1, nn.Tanh()))
_net_case("layer_dropped", lambda n: n.__delitem__(1))
_net_case("layer_appended", lambda n: n.append(nn.Tanh()))
_net_case("weight_replaced", lambda n: setattr(n[0], "weight", nn.Parameter(torch.ones(3, 3))))
_net_case("weight_data", lambda n: setattr(n[0].weight, "data", torch.ones(3, 3)))
_net_case("weight_in_place", lambda n: n[0].weight.data.fill_(0.5))
_net_case("weight_dtype", lambda n: n.double(), lambda: small_net(), "any")
_net_case("bias_dropped", lambda n: setattr(n[0], "bias", None))
_net_case(
    "eval", lambda n: n.eval(), lambda: nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), "any"
)
_net_case("frozen", lambda n: n[0].weight.requires_grad_(False))
_net_case(
    "class_patched",
    lambda n: setattr(type(n), "forward", lambda self, x: x * 4),
    lambda: type("Net", (nn.Linear,), {})(3, 3),
)
_net_case("buffer", lambda n: n.register_buffer("b", torch.ones(3) * 5), lambda: _Buffered())
_net_case("attribute", lambda n: setattr(n, "scale", 4.0), lambda: _Buffered())
_net_case("attribute_in_dict", lambda n: n.__dict__.update(scale=4.0), lambda: _Buffered(), "any")
_net_case("list_attribute", lambda n: n.parts.append(2.0), lambda: _Buffered())
_net_case("module_dict", lambda n: n["a"].__setattr__("negative_slope", 0.9), lambda: _Dicts())
_net_case(
    "spectral",
    lambda n: n[0].weight.data.mul_(2),
    lambda: nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))),
    "any",
)


class _Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.scale, self.parts = 1.0, [1.0]

    def forward(self, x):
        return x * self.b * self.scale + sum(self.parts)


class _Dicts(nn.ModuleDict):
    def __init__(self):
        super().__init__({"a": nn.LeakyReLU(0.1)})

    def forward(self, x):
        for layer in self.values():
            x = layer(x)
        return x


@case("program")
def global_module_hook():
    net = small_net()
    kept = []

    def change(i):
        if i == 4:
            kept.append(nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 2))
        if i == 7 and kept:
            kept.pop().remove()

    return (lambda x: net(x)), change


@case("program")
def tensor_hook_replaced():
    w = torch.ones(3, requires_grad=True)
    kept = [w.register_hook(lambda g: g * 2)]

    def fn(x):
        (g,) = torch.autograd.grad((x * w).sum(), w)
        return g

    def change(i):
        if i == 4:
            kept.pop().remove()
            kept.append(w.register_hook(lambda g: g * 5))

    return fn, change


@case("program")
def settings_of_the_thread():
    def change(i):
        torch.set_default_dtype(torch.float64 if i in (4, 5) else torch.float32)

    return (lambda x: x + torch.ones(3)), change


@case("traced")
def sets_the_default_dtype():
    def fn(x):
        torch.set_default_dtype(torch.float64)
        return x + torch.ones(3)

    return fn, lambda i: torch.set_default_dtype(torch.float32), lambda: torch.get_default_dtype()


# -- the world outside -----------------------------------------------------------------------------------


@case("program")
def environment():
    def change(i):
        os.environ["RUSHLIGHT_SCALE"] = late(i, "1", "3")

    return (lambda x: x * float(os.environ["RUSHLIGHT_SCALE"])), change


@case("program")
def environment_absent():
    def change(i):
        os.environ.pop("RUSHLIGHT_ABSENT", None)
        if i >= 4:
            os.environ["RUSHLIGHT_ABSENT"] = "3"

    return (lambda x: x * float(os.getenv("RUSHLIGHT_ABSENT", "1"))), change


@case("traced")
def clock():
    start = time.time()
    return (lambda x: x * (time.time() > start - 1)), lambda i: None


@case("traced")
def monotonic_stand_in():
    """A clock that a test controls."""
    times = iter(range(99))
    return (lambda x: x * next(times)), lambda i: None


@case("traced")
def python_random():
    return (lambda x: x * random.Random(x.shape[0]).random()), lambda i: None


@case("traced")
def numpy_random():
    return (lambda x: x * float(np.random.RandomState(3).rand())), lambda i: None


@case("traced")
def file_read():
    path = os.path.join(tempfile.mkdtemp(), "scale")

    def fn(x):
        with open(path) as f:
            return x * float(f.read())

    def change(i):
        with open(path, "w") as f:
            f.write(late(i, "1", "3"))

    return fn, change


@case("traced")
def working_folder():
    return (lambda x: x * len(os.getcwd())), lambda i: None


@case("traced")
def thread_name():
    return (lambda x: x * len(threading.current_thread().name)), lambda i: None


@case("traced")
def recursion_limit():
    start = sys.getrecursionlimit()
    return (lambda x: x * (sys.getrecursionlimit() - start + 1)), lambda i: sys.setrecursionlimit(
        start + (i >= 4 and i < 7)
    )


@case("traced")
def identity_number():
    return (lambda x: x * (1 if id(x) else 0)), lambda i: None


@case("traced")
def version_of_a_tensor():
    w = torch.ones(3)
    return (lambda x: x * w._version), lambda i: w.add_(0) if i == 4 else None


@case("traced")
def evaluated():
    scale = {"s": 1.0}
    return (lambda x: eval("x * s", {"x": x, **scale})), lambda i: scale.update(s=late(i, 1.0, 3.0))


@case("traced")
def globals_asked_for():
    def change(i):
        globals()["ASKED"] = late(i, 1.0, 3.0)

    return (lambda x: x * globals()["ASKED"]), change


@case("traced")
def frames():
    def fn(x):
        return x * sys._getframe().f_globals["ASKED_TOO"]

    def change(i):
        globals()["ASKED_TOO"] = late(i, 1.0, 3.0)

    return fn, change


@case("program")
def attributes_found_by_code():
    """As configurations of libraries do: every attribute passes a method of the class."""

    class Config:
        aliases = {"factor": "scale"}

        def __init__(self):
            self.scale = 1.0

        def __getattribute__(self, name):
            if name != "aliases" and name in super().__getattribute__("aliases"):
                name = super().__getattribute__("aliases")[name]
            return super().__getattribute__(name)

    c = Config()
    return (lambda x: x * c.factor), lambda i: setattr(c, "scale", late(i, 1.0, 3.0))


@case("program")
def attributes_by_object():
    c, names = types.SimpleNamespace(a=1.0, b=2.0), {"n": "a"}
    fn = lambda x: x * object.__getattribute__(c, names["n"])  # noqa: E731
    return fn, lambda i: setattr(c, "a", late(i, 1.0, 3.0))


@case("program")
def static_method():
    table = {"a": 1.0}

    class Run:
        @staticmethod
        def run(x):
            return x * table["a"]

    run = Run()
    return (lambda x: run.run(x)), lambda i: table.update(a=late(i, 1.0, 3.0))


@case("traced")
def subclasses():
    class Base:
        pass

    kept = []
    return (lambda x: x * len(Base.__subclasses__())), lambda i: kept.append(
        type("S", (Base,), {})
    ) if i == 4 else None


@case("program")
def reloaded_module():
    place = tempfile.mkdtemp()
    name = f"reloaded_{os.path.basename(place).replace('-', '_')}"
    path = os.path.join(place, f"{name}.py")

    def write(scale):
        with open(path, "w") as f:
            f.write(f"def f(x):\n    return x * {scale}\n")
        importlib.invalidate_caches()

    write(1.0)
    sys.path.insert(0, place)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    module = importlib.import_module(name)
    sys.path.remove(place)
    sys.dont_write_bytecode = before

    def change(i):
        if i == 4:
            write(33.0)
            with open(path) as f:
                exec(compile(f.read(), path, "exec"), module.__dict__)

    return (lambda x: module.f(x)), change
