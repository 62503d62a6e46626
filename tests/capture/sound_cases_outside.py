"""More cases for test_compile_sound: modules, and the world outside of the function."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import threading

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


_net_case("buffer", lambda n: n.register_buffer("b", torch.ones(3) * 5), lambda: _Buffered())
_net_case("attribute", lambda n: setattr(n, "scale", 4.0), lambda: _Buffered())
_net_case("module_dict", lambda n: n["a"].__setattr__("negative_slope", 0.9), lambda: _Dicts())


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


# -- the world outside -----------------------------------------------------------------------------------


@case("traced")
def numpy_random():
    return (lambda x: x * float(np.random.RandomState(3).rand())), lambda i: None


@case("traced")
def thread_name():
    return (lambda x: x * len(threading.current_thread().name)), lambda i: None


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
    return (lambda x: x * len(Base.__subclasses__())), lambda i: kept.append(type("S", (Base,), {})) if i == 4 else None


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
