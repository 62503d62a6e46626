"""More cases for test_compile_sound: globals, classes, functions, modules, effects and the world outside."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import functools
import importlib
import io
import json
import logging
import os
import queue
import random
import sys
import tempfile
import threading
import time
import types
import warnings

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn
from sound_cases import CASES, case, late

SCALE = 1.0
TABLE = {"a": 1.0}
LISTED = [1.0]


# -- variables, functions and classes -----------------------------------------------------------------


@case("program")
def global_number():
    def change(i):
        globals()["SCALE"] = late(i, 1.0, 3.0)

    return (lambda x: x * SCALE), change


@case("program")
def global_absent_then_there():
    def fn(x):
        try:
            return x * NOT_YET  # noqa: F821
        except NameError:
            return x

    def change(i):
        globals().pop("NOT_YET", None)
        if i >= 4:
            globals()["NOT_YET"] = 3.0

    return fn, change


@case("program")
def builtin_hidden_by_a_global():
    def change(i):
        globals().pop("abs", None)
        if i >= 4:
            globals()["abs"] = lambda v: 7.0

    return (lambda x: x * abs(-2.0)), change


@case("program")
def builtin_replaced():
    import builtins

    plain = builtins.round

    def change(i):
        builtins.round = plain if i in range(4) or i == 7 else lambda v: 9.0

    return (lambda x: x * round(2.2)), change


@case("program")
def module_attribute():
    module = types.ModuleType("made_up")
    module.scale = 1.0
    return (lambda x: x * module.scale), lambda i: setattr(module, "scale", late(i, 1.0, 3.0))


@case("program")
def function_of_a_module_replaced():
    module = types.ModuleType("made_up")
    module.f = lambda x: x * 2
    return (lambda x: module.f(x)), lambda i: setattr(
        module, "f", late(i, module.f, lambda x: x * 9)
    )


@case("program")
def installed_package_global():
    """Code in site-packages is read like any other."""
    module = types.ModuleType("some_package")
    module.__file__ = "/usr/lib/python3/site-packages/some_package.py"
    source = "scale = 1.0\ndef f(x):\n    return x * scale\n"
    exec(compile(source, module.__file__, "exec"), module.__dict__)
    return (lambda x: module.f(x)), lambda i: setattr(module, "scale", late(i, 1.0, 3.0))


@case("program")
def imported_inside():
    module = types.ModuleType("made_up_inside")
    module.scale = 1.0
    sys.modules["made_up_inside"] = module

    def fn(x):
        from made_up_inside import scale

        return x * scale

    return fn, lambda i: setattr(sys.modules["made_up_inside"], "scale", late(i, 1.0, 3.0))


@case("program")
def import_replaced():
    def fn(x):
        import made_up_again

        return x * made_up_again.scale

    def change(i):
        module = types.ModuleType("made_up_again")
        module.scale = late(i, 1.0, 3.0)
        if i in (0, 4):
            sys.modules["made_up_again"] = module

    return fn, change


@case("program")
def function_attribute():
    def helper(x):
        return x * helper.scale

    helper.scale = 1.0
    return (lambda x: helper(x)), lambda i: setattr(helper, "scale", late(i, 1.0, 3.0))


@case("program")
def function_attribute_absent():
    def helper(x):
        return x * (2.0 if hasattr(helper, "ready") else 1.0)

    return (lambda x: helper(x)), lambda i: setattr(helper, "ready", 1) if i == 4 else None


@case("program")
def function_defaults():
    def helper(x, scale=1.0):
        return x * scale

    return (lambda x: helper(x)), lambda i: setattr(helper, "__defaults__", (late(i, 1.0, 3.0),))


@case("program")
def function_keyword_defaults():
    def helper(x, *, scale=1.0):
        return x * scale

    return (lambda x: helper(x)), lambda i: helper.__kwdefaults__.update(scale=late(i, 1.0, 3.0))


@case("program")
def mutable_default():
    def helper(x, scales=[1.0]):  # noqa: B006
        return x * scales[0]

    return (lambda x: helper(x)), lambda i: helper.__defaults__[0].__setitem__(0, late(i, 1.0, 3.0))


@case("program")
def function_code_replaced():
    def helper(x):
        return x * 2

    def other(x):
        return x * 5

    return (lambda x: helper(x)), lambda i: setattr(
        helper, "__code__", other.__code__
    ) if i == 4 else None


@case("program")
def closure_of_a_closure():
    scale = 1.0

    def outer(x):
        def inner(y):
            return y * scale

        return inner(x)

    def change(i):
        nonlocal scale
        scale = late(i, 1.0, 3.0)

    return outer, change


@case("program")
def decorated():
    state = {"scale": 1.0}

    def twice(f):
        @functools.wraps(f)
        def inner(x):
            return f(x) * state["scale"]

        return inner

    @twice
    def fn(x):
        return x + 1

    return (lambda x: fn(x)), lambda i: state.update(scale=late(i, 1.0, 3.0))


@case("traced")
def cached_function():
    state = {"scale": 1.0}

    @functools.lru_cache
    def scale():
        return state["scale"]

    def change(i):
        if i == 4:
            state["scale"] = 5.0
            scale.cache_clear()

    return (lambda x: x * scale()), change


@case("program")
def class_attribute():
    class Config:
        scale = 1.0

    return (lambda x: x * Config.scale), lambda i: setattr(Config, "scale", late(i, 1.0, 3.0))


@case("program")
def class_attribute_of_a_base():
    class Base:
        scale = 1.0

    class Config(Base):
        pass

    def change(i):
        if i == 4:
            Config.scale = 5.0

    return (lambda x: x * Config.scale), change


@case("program")
def class_attribute_by_an_object():
    class Config:
        scale = 1.0

    c = Config()
    return (lambda x: x * c.scale), lambda i: setattr(Config, "scale", late(i, 1.0, 3.0))


@case("program")
def class_attribute_hidden_by_the_object():
    class Config:
        scale = 1.0

    c = Config()
    return (lambda x: x * c.scale), lambda i: setattr(c, "scale", 4.0) if i == 4 else None


@case("program")
def class_method_patched():
    class Config:
        def run(self, x):
            return x * 2

    c = Config()
    return (lambda x: c.run(x)), lambda i: setattr(
        Config, "run", lambda self, x: x * 7
    ) if i == 4 else None


@case("program")
def class_gets_a_dunder():
    class Config:
        pass

    c = Config()
    return (lambda x: x * 2 if c else x), lambda i: setattr(
        Config, "__bool__", lambda s: False
    ) if i == 4 else None


@case("program")
def bases_exchanged():
    class A:
        scale = 1.0

    class B:
        scale = 4.0

    class C(A):
        pass

    c = C()
    return (lambda x: x * c.scale), lambda i: setattr(C, "__bases__", (B,)) if i == 4 else None


@case("program")
def metaclass_attribute():
    class Meta(type):
        @property
        def scale(cls):
            return cls._scale

    class Config(metaclass=Meta):
        _scale = 1.0

    return (lambda x: x * Config.scale), lambda i: setattr(Config, "_scale", late(i, 1.0, 3.0))


@case("program")
def fresh_object_with_old_parts():
    cfg = types.SimpleNamespace(scale=1.0)

    class Runner:
        def __init__(self, cfg):
            self.cfg = cfg

        def run(self, x):
            return x * self.cfg.scale

    return (lambda x: Runner(cfg).run(x)), lambda i: setattr(cfg, "scale", late(i, 1.0, 3.0))


@case("program")
def either_of_two():
    a, b = types.SimpleNamespace(s=1.0), types.SimpleNamespace(s=2.0)
    which = {"first": True}

    def fn(x):
        return x * (a if which["first"] else b).s

    return fn, lambda i: (setattr(a, "s", late(i, 1.0, 3.0)), which.update(first=i != 6))


@case("program")
def renamed_self():
    class Run:
        def __init__(self, scale):
            self.scale, self.other = scale, None

        def __call__(self, x):
            self = self.other or self
            return x * self.scale

    run, other = Run(1.0), Run(2.0)
    run.other = other
    return (lambda x: run(x)), lambda i: setattr(other, "scale", late(i, 1.0, 3.0))


@case("program")
def library_function_patched():
    plain = F.relu

    def change(i):
        F.relu = plain if i < 4 or i == 7 else F.silu

    return (lambda x: F.relu(x)), change


# -- modules -------------------------------------------------------------------------------------------


def _net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))


def _net_case(name, change, make=_net, kind="program"):
    def closure():
        net = make()
        return (lambda x: net(x)), lambda i: change(net) if i == 4 else None

    CASES[f"net_{name}"] = (closure, kind)


def _replace_hook(net):
    net.handle.remove()
    net.register_forward_hook(lambda m, a, out: out * 3)


def _hooked():
    net = _net()
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
_net_case("weight_dtype", lambda n: n.double(), lambda: _net(), "any")
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
    net = _net()
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


# -- effects -------------------------------------------------------------------------------------------


def _effect(name, make, do, look, kind="traced", change=None):
    def closure():
        o = make()

        def fn(x):
            do(o, x)
            return x * 2

        return fn, (lambda i: change(o) if change and i == 4 else None), lambda: look(o)  # fmt: skip

    CASES[f"effect_{name}"] = (closure, kind)


_effect("append", list, lambda o, x: o.append(1), len)
_effect("append_result", list, lambda o, x: o.append(x.sum()), lambda o: [float(v) for v in o])
_effect("extend", list, lambda o, x: o.extend([1, 2]), len)
_effect("iadd", lambda: [[]], lambda o, x: o.__setitem__(0, [*o[0], 1]), lambda o: len(o[0]))
_effect("dict", dict, lambda o, x: o.update({len(o): 1}), len)
_effect("counter", lambda: collections.Counter(), lambda o, x: o.update("a"), lambda o: o["a"])
_effect("set", set, lambda o, x: o.add(len(o)), len)
_effect("deque", lambda: collections.deque(maxlen=99), lambda o, x: o.append(1), len)
_effect(
    "attribute",
    lambda: types.SimpleNamespace(n=0),
    lambda o, x: setattr(o, "n", o.n + 1),
    lambda o: o.n,
)
_effect("new_attribute", lambda: types.SimpleNamespace(), lambda o, x: setattr(o, "last", 3), lambda o: getattr(o, "last", None),
        "program", lambda o: delattr(o, "last"))  # fmt: skip
_effect("flag_stays", lambda: types.SimpleNamespace(flag=False), lambda o, x: setattr(o, "flag", True), lambda o: o.flag,
        "program", lambda o: setattr(o, "flag", False))  # fmt: skip
_effect(
    "function_attribute",
    lambda: (lambda: None),
    lambda o, x: setattr(o, "n", getattr(o, "n", 0) + 1),
    lambda o: o.n,
)
_effect("queue", queue.Queue, lambda o, x: o.put(1), lambda o: o.qsize())
_effect("simple_queue", queue.SimpleQueue, lambda o, x: o.put(1), lambda o: o.qsize())
_effect("string_io", io.StringIO, lambda o, x: o.write("a"), lambda o: o.getvalue())
_effect("bytes_io", io.BytesIO, lambda o, x: o.write(b"a"), lambda o: o.getvalue())
_effect("print_to", io.StringIO, lambda o, x: print("a", file=o), lambda o: o.getvalue())
_effect("json", io.StringIO, lambda o, x: json.dump([1], o), lambda o: o.getvalue())
_effect("ndarray", lambda: np.zeros(2), lambda o, x: o.__iadd__(1), lambda o: o.tolist())
_effect(
    "ndarray_item",
    lambda: np.zeros(2),
    lambda o, x: o.__setitem__(0, o[0] + 1),
    lambda o: o.tolist(),
)
_effect("ufunc_out", lambda: np.zeros(2), lambda o, x: np.add(o, 1, out=o), lambda o: o.tolist())
_effect("bytearray", bytearray, lambda o, x: o.append(1), len)
_effect("sort", lambda: [3, 1, 2], lambda o, x: o.append(o.pop(0)), lambda o: list(o))
_effect("environ", lambda: os.environ, lambda o, x: o.update(RUSHLIGHT_CASE=o.get("RUSHLIGHT_CASE", "") + "a"),
        lambda o: len(o.pop("RUSHLIGHT_CASE", "")) > 0)  # fmt: skip
_effect(
    "context_var",
    lambda: contextvars.ContextVar("w", default=0),
    lambda o, x: o.set(o.get() + 1),
    lambda o: o.get(),
)
_effect(
    "thread_event",
    threading.Event,
    lambda o, x: o.set(),
    lambda o: o.is_set(),
    "any",
    lambda o: o.clear(),
)
_effect("generator_send", lambda: _consumer(), lambda o, x: o[0].send(1), lambda o: o[1][0])
_effect("parameter_group", lambda: torch.optim.SGD([nn.Parameter(torch.ones(2))], 0.1),
        lambda o, x: o.param_groups[0].update(lr=o.param_groups[0]["lr"] * 0.5), lambda o: o.param_groups[0]["lr"])  # fmt: skip
_effect(
    "module_attribute",
    _net,
    lambda o, x: setattr(o, "calls", getattr(o, "calls", 0) + 1),
    lambda o: o.calls,
)
_effect(
    "register_buffer",
    _net,
    lambda o, x: o.register_buffer("last", x),
    lambda o: float(o.last.sum()),
)
_effect(
    "train_mode", _net, lambda o, x: o.eval(), lambda o: o.training, "program", lambda o: o.train()
)
_effect(
    "tensor_list",
    lambda: [torch.zeros(1)],
    lambda o, x: o.__setitem__(0, o[0] + 1),
    lambda o: float(o[0]),
)
_effect(
    "tensor_attribute",
    lambda: torch.zeros(1),
    lambda o, x: setattr(o, "n", getattr(o, "n", 0) + 1),
    lambda o: o.n,
)
_effect("save", io.BytesIO, lambda o, x: torch.save({"a": 1}, o), lambda o: len(o.getvalue()))
_effect(
    "class_attribute",
    lambda: type("C", (), {"n": 0}),
    lambda o, x: setattr(o, "n", o.n + 1),
    lambda o: o.n,
)
_effect("weak_set", lambda: _weak_set(), lambda o, x: o[0].add(o[1].pop()), lambda o: len(o[0]))
_effect("exit_stack", list, lambda o, x: _closing(o), len)
_effect("finaliser", list, lambda o, x: _Dies(o), len)
_effect("hook_on_module", lambda: _counting_net(), lambda o, x: o[0](x), lambda o: o[1][0])
_effect("hook_appends", lambda: _appending_net(), lambda o, x: o[0](x), lambda o: len(o[1]))
_effect(
    "operator_hook",
    lambda: _hooked_tensor(),
    lambda o, x: (x * o[0]).sum().backward(),
    lambda o: len(o[1]),
)


def _consumer():
    total = [0]

    def run():
        while True:
            total[0] += yield

    g = run()
    next(g)
    return g, total


def _weak_set():
    import weakref

    things = [_Dies([]) for _ in range(20)]
    return weakref.WeakSet(), list(things), things


def _closing(o):
    with contextlib.ExitStack() as stack:
        stack.callback(o.append, 1)


class _Dies:
    def __init__(self, o):
        self.o = o

    def __del__(self):
        self.o.append(1)


def _counting_net():
    net, n = _net(), [0]

    def count(module, args, out):
        n[0] += 1

    net.register_forward_hook(count)
    return net, n


def _appending_net():
    net, kept = _net(), []
    net.register_forward_hook(lambda m, a, out: kept.append(out))
    return net, kept


def _hooked_tensor():
    t, kept = torch.ones(3, requires_grad=True), []
    t.register_hook(kept.append)
    return t, kept


@case("traced")
def effect_global_counter():
    globals()["COUNTED"] = 0

    def fn(x):
        global COUNTED
        COUNTED += 1
        return x * 2

    seen = []
    return fn, (lambda i: seen.append(COUNTED)), lambda: None


@case("traced")
def effect_global_stored():
    box = []

    def fn(x):
        global STORED
        STORED = x.sum()
        return x * 2

    return fn, (lambda i: None), lambda: float(STORED) if not box else None


@case("traced")
def effect_nonlocal():
    n = 0

    def fn(x):
        nonlocal n
        n += 1
        return x * 2

    return fn, (lambda i: None), lambda: n


@case("traced")
def effect_warning():
    def fn(x):
        warnings.warn("a step", stacklevel=1)
        return x * 2

    return fn, lambda i: None, None, "warnings"


@case("traced")
def effect_logging():
    records = []
    logger = logging.Logger("a step")
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)

    def fn(x):
        logger.info("a step")
        return x * 2

    logger.setLevel(logging.INFO)
    return fn, (lambda i: None), lambda: len(records)


@case("any")
def effect_logging_switched_on():
    records = []
    logger = logging.Logger("a step", logging.WARNING)
    handler = logging.Handler()
    handler.emit = records.append
    logger.addHandler(handler)

    def fn(x):
        logger.info("a step")
        return x * 2

    return fn, (lambda i: logger.setLevel(logging.INFO) if i == 4 else None), lambda: len(records)


@case("traced")
def effect_file():
    place = tempfile.mkdtemp()
    path = os.path.join(place, "log")

    def fn(x):
        with open(path, "a") as f:
            f.write("a")
        return x * 2

    return fn, (lambda i: None), lambda: os.path.getsize(path)


@case("traced")
def effect_os_write():
    read, write = os.pipe()

    def fn(x):
        os.write(write, b"a")
        return x * 2

    return fn, (lambda i: None), lambda: os.read(read, 99)


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
