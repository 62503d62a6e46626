"""Scenes about state that changes between calls, each of which says whether the function is a program or runs with Python."""

from __future__ import annotations

import abc
import collections
import contextvars
import functools
import io
import itertools
import json
import logging
import math
import random
import sys
import threading
import types
import typing

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import KINDS, linear, scene, steps
from rushlight import nn

NS = types.SimpleNamespace


def held(name, kind, make, change, use, look=None):
    """`use(x, o)` is compiled; `change(o)` is called once, between replays; `look(o)` is what calls leave behind."""

    def run(c):
        o = make()
        yield from steps(
            c(lambda x: use(x, o)),
            lambda i: change(o) if i == 5 else None,
            look=None if look is None else lambda: look(o),
        )

    run.__name__ = f"state_{name}"
    scene(run)
    KINDS[run.__name__] = kind


def item(key, value):
    return lambda o: o.__setitem__(key, value)


def attribute(value, name="scale"):
    return lambda o: setattr(o, name, value)


def nothing(o):
    pass


def scaled(x, o):
    return x * o.scale


# -- values and containers ------------------------------------------------------------------------

held("bool_to_int", "program", lambda: NS(v=True), attribute(1, "v"), lambda x, o: x.to(torch.int64).bool() * o.v)
held("function", "program", lambda: NS(v=math.sin), attribute(math.cos, "v"), lambda x, o: x * o.v(1.0))
held("list_5000", "traced", lambda: list(range(5000)), item(4000, 9), lambda x, o: x * o[4000])
held("set_replaced", "program", lambda: {1, 2}, lambda o: (o.discard(2), o.add(9)), lambda x, o: x * max(o))
held("ndarray", "program", lambda: np.array([1.0, 2.0]), item(1, 5.0), lambda x, o: x * float(o[1]))
held("ndarray_objects", "traced", lambda: np.array([1.0, 2], object), item(0, 9.0), lambda x, o: x * float(np.sum(o)))


# -- objects --------------------------------------------------------------------------------------


class Slots:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


class Descriptor:
    def __get__(self, instance, owner=None):
        return instance.store["v"]


class Described:
    scale = Descriptor()

    def __init__(self):
        self.store = {"v": 1.0}


class Items:
    def __init__(self):
        self.inner = [1.0]

    def __len__(self):
        return len(self.inner)

    def __call__(self, x):
        return x * self.inner[0]

    def __enter__(self):
        return self.inner[0]

    def __exit__(self, *exc):
        return False

    def __radd__(self, other):
        return self.inner[0] + other

    def __gt__(self, other):
        return self.inner[0] > other


class Other(Items):
    def __len__(self):
        return 42


class Base(abc.ABC):
    @abc.abstractmethod
    def times(self, x): ...


class Concrete(Base):
    def __init__(self):
        self.scale = 1.0

    def times(self, x):
        return x * self.scale


@typing.runtime_checkable
class HasScale(typing.Protocol):
    scale: float


class Generic(typing.Generic[typing.TypeVar("Kind")]):
    def __init__(self):
        self.scale = 1.0


class Aliased:
    """As configurations of libraries are: every attribute passes a method of the class."""

    aliases = {"factor": "scale"}

    def __init__(self):
        self.scale = 1.0

    def __getattribute__(self, name):
        if name != "aliases" and name in super().__getattribute__("aliases"):
            name = super().__getattribute__("aliases")[name]
        return super().__getattribute__(name)


def entered(x, o):
    with o as v:
        return x * (v if isinstance(v, float) else 1.0)


def _bound():
    return typing.TypeVar("T", bound=type("Bound", (), {"scale": 1.0}))


def _inner(o):
    o.inner[0] = 5.0


held("slots", "program", Slots, attribute(3.0), scaled)
held("descriptor", "program", Described, lambda o: o.store.update(v=5.0), scaled)
held("called", "program", Items, _inner, lambda x, o: o(x))
held("with", "program", Items, _inner, entered)
held("radd", "program", Items, _inner, lambda x, o: x * (1.0 + o))
held("compared", "program", Items, _inner, lambda x, o: x * 2 if o > 2 else x)
held("class_changed", "program", Items, attribute(Other, "__class__"), lambda x, o: x * len(o))
held(
    "bound_method", "program", lambda: [Concrete().times], lambda o: attribute(8.0)(o[0].__self__), lambda x, o: o[0](x)
)
held("protocol", "program", Concrete, attribute(3.0), lambda x, o: x * o.scale if isinstance(o, HasScale) else x)
held("generic", "program", Generic, attribute(3.0), scaled)
held("attributes_found_by_code", "program", Aliased, attribute(3.0), lambda x, o: x * o.factor)
held("type_variable", "any", _bound, lambda o: attribute(3.0)(o.__bound__), lambda x, o: x * o.__bound__.scale)
held("exception", "any", lambda: ValueError(1.0), attribute((3.0,), "args"), lambda x, o: x * o.args[0])
held("event", "program", threading.Event, threading.Event.set, lambda x, o: x * (2 if o.is_set() else 1))
held("iterator", "traced", lambda: itertools.count(1), nothing, lambda x, o: x * next(o))
held("lock", "traced", threading.Lock, nothing, entered)
held("random_state", "traced", lambda: random.Random(3), nothing, lambda x, o: x * o.random())
held("numpy_random", "traced", NS, nothing, lambda x, o: x * float(np.random.RandomState(3).rand()))
held("thread_name", "traced", NS, nothing, lambda x, o: x * len(threading.current_thread().name))
held("subclasses", "traced", lambda: type("Base", (), {}), lambda o: setattr(o, "kept", type("S", (o,), {})),
     lambda x, o: x * len(o.__subclasses__()))  # fmt: skip


# -- names, functions and modules -----------------------------------------------------------------

ASKED_TOO = 1.0


def _package(name):
    module = types.ModuleType(name)
    module.__file__ = f"/usr/lib/python3/site-packages/{name}.py"
    exec(compile("scale = 1.0\ndef f(x):\n    return x * scale\n", module.__file__, "exec"), module.__dict__)
    sys.modules[name] = module
    return module


def _imported(x, o):
    from made_up_inside import scale

    return x * scale


def _helper():
    def helper(x):
        return x * (2.0 if hasattr(helper, "ready") else 1.0)

    return helper


def _decorated():
    state = {"scale": 1.0}

    @functools.wraps(_helper)
    def inner(x):
        return x * state["scale"]

    return NS(fn=inner, state=state)


def _static():
    table = {"a": 1.0}
    return type("Run", (), {"run": staticmethod(lambda x: x * table["a"]), "table": table})()


def _source(scale):
    return compile(f"def f(x):\n    return x * {scale}\n", "reloaded.py", "exec")


def _reloaded():
    module = types.ModuleType("reloaded")
    exec(_source(1.0), module.__dict__)
    return module


def _frames(x, o):
    return x * sys._getframe().f_globals["ASKED_TOO"]


held("installed_package", "program", lambda: _package("some_package"), attribute(3.0), lambda x, o: o.f(x))
held("imported_inside", "program", lambda: _package("made_up_inside"), attribute(3.0), _imported)
held("attribute_of_a_function", "program", _helper, attribute(1, "ready"), lambda x, o: o(x))
held(
    "code_replaced",
    "program",
    lambda: lambda x: x * 2,
    attribute((lambda x: x * 5).__code__, "__code__"),
    lambda x, o: o(x),
)
held("decorated", "program", _decorated, lambda o: o.state.update(scale=3.0), lambda x, o: o.fn(x))
held("static_method", "program", _static, lambda o: o.table.update(a=3.0), lambda x, o: o.run(x))
held("reloaded_module", "program", _reloaded, lambda o: exec(_source(33.0), o.__dict__), lambda x, o: o.f(x))
held("frames", "traced", lambda: globals().update(ASKED_TOO=1.0), lambda o: globals().update(ASKED_TOO=3.0), _frames)


class Buffered(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.scale = 1.0

    def forward(self, x):
        return x * self.b * self.scale


class Dicts(nn.ModuleDict):
    def __init__(self):
        super().__init__({"a": nn.LeakyReLU(0.1)})

    def forward(self, x):
        for layer in self.values():
            x = layer(x)
        return x


def run(x, net):
    return net(x)


held("buffer", "program", Buffered, lambda o: o.register_buffer("b", torch.ones(3) * 5), run)
held("attribute_of_a_module", "program", Buffered, attribute(4.0), run)
held("module_dict", "program", Dicts, lambda o: attribute(0.9, "negative_slope")(o["a"]), run)


def undone(name, put):
    """`put(i)` changes the process; what it returns is called when all is over."""

    def make(c):
        net, back = nn.Sequential(linear(), nn.ReLU()), []
        try:
            yield from steps(c(lambda x: F.relu(net(x))), lambda i: back.append(put()) if i == 5 else None)
        finally:
            while back:
                back.pop()()

    make.__name__ = f"state_{name}"
    scene(make)
    KINDS[make.__name__] = "program"


def _patched():
    plain, F.relu = F.relu, F.silu
    return functools.partial(setattr, F, "relu", plain)


undone("global_hook", lambda: nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 2).remove)
undone("library_function_patched", _patched)


# -- what a function does beside computing --------------------------------------------------------


def effect(name, kind, make, do, look, change=nothing):
    held(f"effect_{name}", kind, make, change, lambda x, o: (do(o, x), x * 2)[1], look)


def _consumer():
    total = [0]

    def take():
        while True:
            total[0] += yield

    g = take()
    next(g)
    return g, total


def _store(o, x):
    global STORED
    STORED = x.sum()


def _logger():
    records, logger, handler = [], logging.Logger("a step", logging.WARNING), logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)
    return logger, records


effect("counter", "traced", collections.Counter, lambda o, x: o.update("a"), lambda o: o["a"])
effect("attribute", "program", NS, lambda o, x: setattr(o, "last", 3), lambda o: getattr(o, "last", None),
       lambda o: delattr(o, "last"))  # fmt: skip
effect("print_to", "traced", io.StringIO, lambda o, x: print("a", file=o), lambda o: o.getvalue())
effect("json", "traced", io.StringIO, lambda o, x: json.dump([1], o), lambda o: o.getvalue())
effect(
    "context_var",
    "traced",
    lambda: contextvars.ContextVar("w", default=0),
    lambda o, x: o.set(o.get() + 1),
    lambda o: o.get(),
)
effect("generator_send", "traced", _consumer, lambda o, x: o[0].send(1), lambda o: o[1][0])
effect("train_mode", "program", linear, lambda o, x: o.eval(), lambda o: o.training, lambda o: o.train())
effect("save", "traced", io.BytesIO, lambda o, x: torch.save({"a": 1}, o), lambda o: len(o.getvalue()))
effect("global_stored", "traced", NS, _store, lambda o: float(STORED))
effect(
    "logging",
    "any",
    _logger,
    lambda o, x: o[0].info("a step"),
    lambda o: len(o[1]),
    lambda o: o[0].setLevel(logging.INFO),
)
