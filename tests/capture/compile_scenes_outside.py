"""Scenes about the process around a call, objects that stand for numbers and sequences, decorated and nested functions."""

from __future__ import annotations

import collections
import contextvars
import fractions
import functools
import heapq
import inspect
import itertools
import json
import os
import pathlib
import pickle
import re
import statistics
import sys
import tempfile
import types

import numpy as np

import rushlight as torch
from compile_scenes import L, X, scene, settings, steps, tell, worlds
from rushlight import nn

NS = types.SimpleNamespace
world = worlds("outside")
process = settings("outside_process", 9)


# -- the process ----------------------------------------------------------------------------------


HERE, THERE = os.getcwd(), tempfile.gettempdir()
ROOM = pathlib.Path(tempfile.mkdtemp())


def _file(there):
    if there:
        (ROOM / "a").write_text("a")
    else:
        (ROOM / "a").unlink(missing_ok=True)


def _argument(on):
    while "--of-a-scene" in sys.argv:
        sys.argv.remove("--of-a-scene")
    if on:
        sys.argv.append("--of-a-scene")


process(
    "folder", lambda: pathlib.Path.cwd() == pathlib.Path(HERE), lambda v: os.chdir(HERE if v else THERE), True, False
)
process("file", lambda: (ROOM / "a").exists(), _file, True, False)
process("arguments", lambda: "--of-a-scene" in sys.argv, _argument, False, True)
process("numpy_errors", lambda: np.geterr()["divide"], lambda v: np.seterr(divide=v), "warn", "ignore")


# -- the standard library with values of the world ------------------------------------------------

LIBRARY = {
    "mean": lambda o: statistics.mean(o.rows),
    "median": lambda o: statistics.median(o.rows),
    "heap": lambda o: heapq.nlargest(1, o.rows)[0],
    "merged": lambda o: next(heapq.merge(o.rows, [9.0])),
    "fraction": lambda o: float(fractions.Fraction(int(o.rows[0]), 2)),
    "json": lambda o: json.loads(json.dumps(o.rows))[0],
    "pickle": lambda o: pickle.loads(pickle.dumps(o.rows))[0],
    "accumulated": lambda o: list(itertools.accumulate(o.rows))[-1],
    "grouped": lambda o: len([k for k, _ in itertools.groupby(o.rows)]) + o.rows[0],
    "product": lambda o: sum([a * b for a, b in itertools.product(o.rows, repeat=2)]),
    "chained": lambda o: sum(itertools.chain.from_iterable([o.rows, o.rows])),
    "pattern": lambda o: len(re.sub(o.pattern, "", "aabbb")) + 1,
    "signature": lambda o: len(inspect.signature(o.fn).parameters),
    "defaults": lambda o: inspect.signature(o.fn).parameters["k"].default,
    "full_args": lambda o: inspect.getfullargspec(o.fn).defaults[0],
    "static": lambda o: inspect.getattr_static(o, "scale"),
    "members": lambda o: len(inspect.getmembers(o.made)),
    "is_dataclass": lambda o: 2 if inspect.isfunction(o.maybe) else 3,
    "doc": lambda o: len(inspect.getdoc(o.fn)),
    "wrapped": lambda o: functools.wraps(o.fn)(lambda: 1).__defaults_of__,
    "split": lambda o: float(o.text.split(",")[0]),
    "template": lambda o: len("%(a)s" % {"a": o.text}),  # noqa: UP031
    "format_map": lambda o: len("{a}".format_map({"a": o.text})),
    "formatted": lambda o: len(f"{o.rows[0]:{o.width}}"),
    "bytes": lambda o: o.text.encode()[0],
    "sorted_text": lambda o: len("".join(sorted(o.text))),
    "vectorized": lambda o: float(np.vectorize(lambda v: v * o.scale)(2.0)),
    "from_python": lambda o: float(np.frompyfunc(lambda v: v * o.scale, 1, 1)(2.0)),
    "interp": lambda o: float(np.interp(1.5, [1, 2], [o.scale, 4])),
    "piecewise": lambda o: float(np.piecewise(1.0, [True], [lambda v: v * o.scale])),
    "apply_axis": lambda o: float(np.apply_along_axis(lambda v: v.sum() * o.scale, 0, np.ones(2))),
}


def library(name, use):
    def make(c):
        o = NS(made=NS(a=1))

        def fn(a, k=1.0):
            """a"""

        def change(i):
            o.rows = L(i, [2.0, 3.0], [5.0, 3.0, 1.0])
            o.pattern, o.text = L(i, "a", "b"), L(i, "2,3", "33,4")
            o.fn, o.scale, o.width = fn, L(i, 2.0, 3.0), L(i, 5, 9)
            fn.__defaults__, fn.__doc__ = (L(i, 1.0, 2.0),), L(i, "a", "abc")
            fn.__defaults_of__ = L(i, 2.0, 3.0)
            o.maybe = L(i, fn, 1)
            o.made = L(i, NS(a=1), NS(a=1, b=2))

        yield from steps(c(lambda x: x * use(o)), change, n=9)

    make.__name__ = f"outside_library_{name}"
    scene(make)


for _name, _use in LIBRARY.items():
    library(_name, _use)


# -- objects that stand for numbers and sequences -------------------------------------------------


class Stands:
    """An object that C turns into what an operation needs."""

    def __init__(self):
        self.v = 2

    def __index__(self):
        return self.v

    def __int__(self):
        return self.v

    def __float__(self):
        return float(self.v)

    def __len__(self):
        return 3

    def __getitem__(self, i):
        if i >= 3:
            raise IndexError
        return float(self.v + i)


class Array:
    def __init__(self):
        self.v = 2.0

    def __array__(self, dtype=None, copy=None):
        return np.full(3, self.v)


class Mapping(collections.abc.Mapping):
    def __init__(self):
        self.v = 2

    def keys(self):
        return ["k"]

    def __getitem__(self, name):
        return float(self.v)

    def __iter__(self):
        return iter(["k"])

    def __len__(self):
        return 1


class Right:
    def __init__(self):
        self.v = 2

    def __rmul__(self, x):
        return x + self.v

    def __radd__(self, x):
        return x - self.v

    def __rmatmul__(self, x):
        return x @ x.t() * self.v


class Like:
    def __init__(self):
        self.v = 2.0

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*[a.v if isinstance(a, cls) else a for a in args], **(kwargs or {}))


STANDS = {
    "index": (Stands, lambda x, o: x[o]),
    "size": (Stands, lambda x, o: torch.ones(o.__index__())),
    "full": (Stands, lambda x, o: x * torch.full((o,), 2.0).sum()),
    "dim": (Stands, lambda x, o: x.reshape(2, 2, 3).sum(o)),
    "number": (Stands, lambda x, o: x * float(o)),
    "sequence": (Stands, lambda x, o: x * torch.tensor(list(o))),
    "range": (Stands, lambda x, o: x * len(range(o))),
    "bytes": (Stands, lambda x, o: x * len(bytes(o.v))),
    "narrow": (Stands, lambda x, o: x.narrow(0, 0, o)),
    "array": (Array, lambda x, o: x * torch.as_tensor(np.asarray(o))),
    "tensor_of_array": (Array, lambda x, o: x * torch.tensor(np.array(o))),
    "mapping": (Mapping, lambda x, o: (lambda k: x * k)(**o)),
    "dict_of": (Mapping, lambda x, o: x * dict(o)["k"]),
    "right_mul": (Right, lambda x, o: x * o),
    "right_add": (Right, lambda x, o: x + o),
    "right_matmul": (Right, lambda x, o: x @ o),
    "like_a_tensor": (Like, lambda x, o: torch.mul(x, o)),
}


def stands(name, cls, use):
    def make(c):
        o = cls()
        yield from steps(c(lambda x: use(x, o)), lambda i: setattr(o, "v", L(i, 2, 1)), n=9)

    def give(c):
        f, o = c(use), cls()
        for i in range(9):
            o.v = L(i, 2, 1)
            yield tell(f, X(i), o)

    make.__name__, give.__name__ = f"outside_stands_{name}", f"outside_stands_{name}_given"
    scene(make)
    scene(give)


for _name, (_cls, _use) in STANDS.items():
    stands(_name, _cls, _use)


# -- what is compiled -----------------------------------------------------------------------------


class Called:
    def __init__(self):
        self.k = 2.0

    def __call__(self, x):
        return x * self.k

    def method(self, x):
        return x * self.k

    @classmethod
    def of_class(cls, x):
        return x * cls.j

    @staticmethod
    def of_none(x):
        return x * Called.j

    @property
    def made(self):
        return lambda x: x * self.k

    j = 2.0


def compiled(name, make_fn):
    """What is compiled is an object, a method, a partial: whatever can be called."""

    def make(c):
        o = Called()
        fn = make_fn(o)
        f = c(fn)
        try:
            for i in range(9):
                o.k = Called.j = L(i, 2.0, 3.0)
                if isinstance(fn, types.FunctionType) and hasattr(fn, "__wrapped__"):
                    fn.k = L(i, 2.0, 3.0)
                yield tell(f, X(i))
        finally:
            Called.j = 2.0

    make.__name__ = f"outside_compiled_{name}"
    scene(make)


compiled("partial_of_a_method", lambda o: functools.partial(Called.method, o))
compiled("method_by_hand", lambda o: types.MethodType(lambda self, x: x * self.k, o))
compiled("class", lambda o: type("Made", (), {"__new__": lambda cls, x: x * o.k}))


@world
def exception_group():
    o = NS(k=2.0)

    def fn(x):
        try:
            raise ExceptionGroup("a", [ValueError(o.k), KeyError(1)])
        except* ValueError as group:
            x = x * group.exceptions[0].args[0]
        except* KeyError:
            x = x + 1
        return x

    return fn, lambda i: setattr(o, "k", L(i, 2.0, 3.0))


# -- settings that the call itself changes --------------------------------------------------------


def leaves(name, put, ask, before):
    """A function that changes a setting of the process for good; what it is afterwards is looked at."""

    def make(c):
        def fn(x):
            y = x * 2
            put()
            return y

        f, first = c(fn), ask()
        try:
            for i in range(7):
                before(first)
                yield tell(f, X(i)), repr(ask())
        finally:
            before(first)

    make.__name__ = f"outside_leaves_{name}"
    scene(make)


def _hooks(kind):
    return len(getattr(sys.modules["rushlight.nn.modules._global_hooks"].GLOBAL, kind))


HANDLES = []


def _drop(_):
    while HANDLES:
        HANDLES.pop().remove()


leaves("threads", lambda: torch.set_num_threads(3), torch.get_num_threads, torch.set_num_threads)
leaves("grad", lambda: torch.set_grad_enabled(False), torch.is_grad_enabled, torch.set_grad_enabled)
leaves(
    "flash",
    lambda: torch.backends.cuda.enable_flash_sdp(False),
    torch.backends.cuda.flash_sdp_enabled,
    torch.backends.cuda.enable_flash_sdp,
)
leaves(
    "validation",
    lambda: torch.distributions.Distribution.set_default_validate_args(False),
    lambda: torch.distributions.Distribution._validate_args,
    torch.distributions.Distribution.set_default_validate_args,
)
leaves(
    "global_hook",
    lambda: HANDLES.append(nn.modules.module.register_module_forward_hook(lambda m, a, o: None)),
    lambda: _hooks("forward"),
    _drop,
)
leaves("context", lambda: VARIABLE.set(3.0), lambda: VARIABLE.get(), lambda v: VARIABLE.set(2.0))

VARIABLE = contextvars.ContextVar("variable_of_scenes", default=2.0)


@world
def anomalies_looked_for_inside():
    def fn(x):
        x = x.clone().requires_grad_()
        with torch.autograd.detect_anomaly():
            (x * 0).sqrt().mul(0).sum().backward()
        return x.grad

    def switched(x):
        x = x.clone().requires_grad_()
        with torch.autograd.set_detect_anomaly(True, check_nan=True):
            ((x - 4).clamp(min=0) * 0 + x.abs().sum() - 40).sqrt().sum().backward()
        return x.grad

    return lambda x: (fn(x) if x.numel() < 0 else switched(x)), None
