"""More cases for test_compile_sound: what a function does beside computing."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import io
import json
import logging
import os
import queue
import tempfile
import threading
import types
import warnings

import numpy as np

import rushlight as torch
from rushlight import nn
from sound_cases import CASES, case, small_net


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
    small_net,
    lambda o, x: setattr(o, "calls", getattr(o, "calls", 0) + 1),
    lambda o: o.calls,
)
_effect(
    "register_buffer",
    small_net,
    lambda o, x: o.register_buffer("last", x),
    lambda o: float(o.last.sum()),
)
_effect(
    "train_mode",
    small_net,
    lambda o, x: o.eval(),
    lambda o: o.training,
    "program",
    lambda o: o.train(),
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
    net, n = small_net(), [0]

    def count(module, args, out):
        n[0] += 1

    net.register_forward_hook(count)
    return net, n


def _appending_net():
    net, kept = small_net(), []
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
