"""Scenes with state outside of Python's objects, iterators, errors, random streams, many shapes; settings of the process."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import contextvars
import ctypes
import functools
import io
import itertools
import os
import queue
import random
import struct
import sys
import tempfile
import threading
import weakref

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, scene, see, steps, tell
from rushlight import nn


@scene
def module_weakref(c):
    a = nn.Linear(3, 3)
    b = nn.Linear(3, 3)
    h = {"r": weakref.ref(a)}

    return steps(c(lambda x: h["r"]()(x)), lambda i: h.update(r=weakref.ref(L(i, a, b))))


@scene
def kwdefault(c):
    def fn(x, *, w=1.0):
        return x * w

    return steps(c(fn), lambda i: setattr(fn, "__kwdefaults__", {"w": L(i, 1.0, 2.0)}))


@scene
def np_state(c):
    a = np.ones(3, np.float32)
    t = torch.from_numpy(a)

    return steps(c(lambda x: x * t + torch.from_numpy(a)), lambda i: a.__imul__(2))


@scene
def np_state_read(c):
    a = np.ones(3)

    return steps(c(lambda x: x * float(a[0])), lambda i: a.__imul__(2))


@scene
def np_tensor_made(c):
    a = np.ones(3, np.float32)

    return steps(c(lambda x: x * torch.tensor(a)), lambda i: a.__imul__(2))


@scene
def np_as_tensor(c):
    a = np.ones(3, np.float32)

    return steps(c(lambda x: x * torch.as_tensor(a)), lambda i: a.__imul__(2))


@scene
def memmap_state(c):
    f_ = tempfile.NamedTemporaryFile()
    f_.write(np.ones(3).tobytes())
    f_.flush()
    a = np.memmap(f_.name, np.float64, "r+", shape=(3,))

    return steps(c(lambda x: x * float(a[0])), lambda i: a.__setitem__(0, i))


@scene
def ctypes_state(c):
    v = ctypes.c_double(2.0)

    return steps(c(lambda x: x * v.value), lambda i: setattr(v, "value", L(i, 2.0, 3.0)))


@scene
def bytearray_buffer(c):
    b = bytearray(np.ones(3, np.float32).tobytes())

    def fn(x):
        return x * torch.frombuffer(b, dtype=torch.float32)

    return steps(c(fn), lambda i: b.__setitem__(slice(0, 4), struct.pack("f", i)))


@scene
def struct_read(c):
    b = bytearray(struct.pack("d", 2.0))

    def fn(x):
        return x * struct.unpack_from("d", b)[0]

    return steps(c(fn), lambda i: b.__setitem__(slice(0, 8), struct.pack("d", L(i, 2.0, 3.0))))


@scene
def iterator_state(c):
    it = itertools.count()

    return steps(c(lambda x: x * next(it)))


@scene
def cycle_state(c):
    it = itertools.cycle([1.0, 2.0])

    return steps(c(lambda x: x * next(it)))


@scene
def gen_state(c):
    def g():
        for i in range(100):
            yield float(i)

    it = g()

    return steps(c(lambda x: x * next(it)))


@scene
def file_pos(c):
    s = io.StringIO("\n".join(map(str, range(50))))

    return steps(c(lambda x: x * float(s.readline())))


@scene
def queue_state(c):
    q = queue.SimpleQueue()
    [q.put(float(i)) for i in range(20)]

    return steps(c(lambda x: x * q.get()))


@scene
def nonlocal_counter(c):
    n = 0

    def fn(x):
        nonlocal n
        n += 1
        return x * n

    return steps(c(fn))


@scene
def lru(c):
    k = {"v": 2.0}

    @functools.lru_cache
    def g():
        return k["v"]

    def fn(x):
        return x * g()

    return steps(c(fn), lambda i: (k.update(v=L(i, 2.0, 3.0)), g.cache_clear() if i == 6 else 0))


@scene
def finally_effect(c):
    log = []

    def fn(x):
        try:
            return x * 2
        finally:
            log.append(1)

    return steps(c(fn), look=lambda: list(log))


def err(name, body, good, bad):
    """A kernel that refuses some values, in a call that writes into its argument before."""

    def make(c):
        def fn(x, d):
            x.add_(1)
            return body(x, d) + x.sum()

        f = c(fn)
        for i in range(10):
            x = X(i)
            yield tell(f, x, (bad if i in (5, 6, 8) else good)()), see(x), x._version

    make.__name__ = "err_" + name
    scene(make)


emb = torch.randn(5, 3)
err(
    "embedding",
    lambda x, d: F.embedding(d, emb),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 9]),
)
err("index", lambda x, d: emb[d], lambda: torch.tensor([1, 2]), lambda: torch.tensor([1, 9]))
err(
    "gather",
    lambda x, d: x.gather(0, d),
    lambda: torch.tensor([[1, 2, 0]]),
    lambda: torch.tensor([[1, 2, 9]]),
)
err(
    "scatter",
    lambda x, d: torch.zeros(4, 3).scatter(0, d, x),
    lambda: torch.tensor([[1, 2, 0]]),
    lambda: torch.tensor([[1, 2, 9]]),
)
err(
    "index_select",
    lambda x, d: x.index_select(0, d),
    lambda: torch.tensor([1, 2, 0]),
    lambda: torch.tensor([1, 2, 9]),
)
err(
    "take",
    lambda x, d: x.take(d),
    lambda: torch.tensor([1, 2, 0]),
    lambda: torch.tensor([1, 2, 99]),
)
err(
    "ce",
    lambda x, d: F.cross_entropy(x, d),
    lambda: torch.tensor([1, 2, 0, 0]),
    lambda: torch.tensor([1, 2, 9, 0]),
)
err(
    "nll",
    lambda x, d: F.nll_loss(x, d),
    lambda: torch.tensor([1, 2, 0, 0]),
    lambda: torch.tensor([1, 2, 9, 0]),
)
err("cholesky", lambda x, d: torch.linalg.cholesky(d), lambda: torch.eye(3), lambda: -torch.eye(3))
err("inv", lambda x, d: torch.linalg.inv(d), lambda: torch.eye(3), lambda: torch.zeros(3, 3))
err(
    "one_hot",
    lambda x, d: F.one_hot(d, 3),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 5]),
)
err(
    "multinomial",
    lambda x, d: torch.multinomial(d, 2),
    lambda: torch.tensor([0.5, 0.5]),
    lambda: torch.tensor([-0.5, 0.5]),
)
err(
    "bernoulli",
    lambda x, d: torch.bernoulli(d),
    lambda: torch.tensor([0.5, 0.5]),
    lambda: torch.tensor([1.5, 0.5]),
)
err(
    "bce",
    lambda x, d: F.binary_cross_entropy(d, torch.zeros(2)),
    lambda: torch.tensor([0.5, 0.5]),
    lambda: torch.tensor([1.5, 0.5]),
)
err(
    "index_add",
    lambda x, d: torch.zeros(4, 3).index_add(0, d, x),
    lambda: torch.tensor([1, 2, 0, 0]),
    lambda: torch.tensor([1, 2, 0, 7]),
)
err(
    "repeat",
    lambda x, d: x.repeat_interleave(d, 0),
    lambda: torch.tensor([1, 2, 0, 1]),
    lambda: torch.tensor([1, 2, 0, -1]),
)
err(
    "put",
    lambda x, d: x.put_(d, torch.ones(2)),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 99]),
)
err(
    "max_unpool",
    lambda x, d: F.max_unpool1d(x[None], d, 2),
    lambda: torch.zeros(1, 4, 3, dtype=torch.int64),
    lambda: torch.full((1, 4, 3), 99),
)
err(
    "emb_bag",
    lambda x, d: F.embedding_bag(d, emb, torch.tensor([0])),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 9]),
)


def tr(name, body, good, bad):
    def b(x, d):
        try:
            return body(x, d)
        except (RuntimeError, IndexError):
            return x * 5

    err("caught_" + name, b, good, bad)


tr(
    "embedding",
    lambda x, d: F.embedding(d, emb),
    lambda: torch.tensor([1, 2]),
    lambda: torch.tensor([1, 9]),
)
tr("cholesky", lambda x, d: torch.linalg.cholesky(d), lambda: torch.eye(3), lambda: -torch.eye(3))


# ---- RNG
def rng(name, body, ch=None):
    def make(c):
        g = torch.Generator().manual_seed(3)
        f = c(lambda x: body(x, g))
        for i in range(9):
            if ch:
                ch(i, g)
            yield tell(f, X(i)), see(g.get_state())

    make.__name__ = "rng_" + name
    scene(make)


rng("rand", lambda x, g: x + torch.rand(4, 3))
rng("generator", lambda x, g: x + torch.rand(4, 3, generator=g))
rng("generator_seeds_inside", lambda x, g: x + torch.rand(4, 3, generator=g.manual_seed(1)))
rng("generator_set_state", lambda x, g: (g.set_state(ST), x + torch.rand(4, 3, generator=g))[1])
rng("generator_get_state", lambda x, g: (x + torch.rand(4, 3, generator=g), g.get_state()))
rng("generator_seed", lambda x, g: x * (g.initial_seed() % 5), lambda i, g: g.manual_seed(i))
rng("generator_made", lambda x, g: x + torch.rand(4, 3, generator=torch.Generator().manual_seed(4)))
rng("alias_seed", lambda x, g: (MS(0), x + torch.rand(4, 3))[1])
rng("fork", lambda x, g: _fork(x))
rng("alias_fork", lambda x, g: _fork2(x))
rng("alias_set", lambda x, g: (SET(ST), x + torch.rand(4, 3))[1])
rng(
    "default_generator",
    lambda x, g: (torch.default_generator.manual_seed(3), x + torch.rand(4, 3))[1],
)
rng("dropout", lambda x, g: F.dropout(x, 0.5))
rng("randperm", lambda x, g: x[torch.randperm(4)])
rng("randint", lambda x, g: x + torch.randint(0, 5, (4, 3)))
rng("normal_", lambda x, g: x.normal_())
rng("bernoulli_", lambda x, g: x.bernoulli_(0.3))
rng("branch", lambda x, g: x + torch.rand(4, 3) if x.shape[0] > 2 else x)
ST = torch.Generator().manual_seed(9).get_state()
MS = torch.manual_seed
SET = torch.set_rng_state
FORK = torch.random.fork_rng


def _fork(x):
    with torch.random.fork_rng():
        y = x + torch.rand(4, 3)
    return y + torch.rand(4, 3)


def _fork2(x):
    with FORK():
        y = x + torch.rand(4, 3)
    return y + torch.rand(4, 3)


# ---- shapes
@scene
def many_shapes(c):
    f = c(lambda x: (x * 2).sum(0))
    for n in [*range(1, 40), *range(1, 10), 3, 3, 3]:
        yield tell(f, X(9, n, 3))


@scene
def many_numbers(c):
    f = c(lambda x, n: x * n)
    for n in [*range(1, 40), *range(1, 10), 3, 3, 3]:
        yield tell(f, X(9), n)


def env(name, use, change):
    def make(c):
        f = c(lambda x: x * use())
        try:
            yield from steps(f, change)
        finally:
            change(0)

    make.__name__ = "env_" + name
    scene(make)


env("num_threads", lambda: torch.get_num_threads(), lambda i: torch.set_num_threads(L(i, 1, 2)))
env(
    "default_dtype",
    lambda: torch.tensor(2.0).element_size(),
    lambda i: torch.set_default_dtype(L(i, torch.float32, torch.float64)),
)
env(
    "deterministic",
    lambda: 2 if torch.are_deterministic_algorithms_enabled() else 3,
    lambda i: torch.use_deterministic_algorithms(L(i, False, True)),
)
env(
    "warn_only",
    lambda: 2 if torch.is_deterministic_algorithms_warn_only_enabled() else 3,
    lambda i: torch.use_deterministic_algorithms(True, warn_only=L(i, False, True))
    if i
    else torch.use_deterministic_algorithms(False),
)
env(
    "debug_mode",
    lambda: torch.get_deterministic_debug_mode() + 1,
    lambda i: torch.set_deterministic_debug_mode(L(i, 0, 1)),
)
env(
    "precision",
    lambda: len(torch.get_float32_matmul_precision()),
    lambda i: torch.set_float32_matmul_precision(L(i, "highest", "high")),
)
env(
    "default_device",
    lambda: len(str(torch.get_default_device())),
    lambda i: torch.set_default_device(L(i, "cpu", "meta"))
    if i
    else torch.set_default_device(None),
)
env(
    "zeros_device",
    lambda: torch.zeros(3).to("cpu") if torch.zeros(3).device.type == "cpu" else 5,
    lambda i: torch.set_default_device(L(i, "cpu", "meta"))
    if i
    else torch.set_default_device(None),
)
env("initial_seed", lambda: torch.initial_seed() % 7, lambda i: torch.manual_seed(i))
env(
    "cudnn",
    lambda: 2 if torch.backends.cudnn.benchmark else 3,
    lambda i: setattr(torch.backends.cudnn, "benchmark", L(i, False, True)),
)
env(
    "autocast_on",
    lambda: 2 if torch.is_autocast_enabled("cpu") else 3,
    lambda i: torch.set_autocast_enabled("cpu", L(i, False, True)),
)
env(
    "autocast_dtype",
    lambda: len(str(torch.get_autocast_dtype("cpu"))),
    lambda i: torch.set_autocast_dtype("cpu", L(i, torch.bfloat16, torch.float16)),
)
env(
    "np_errstate",
    lambda: 2 if np.geterr()["divide"] == "warn" else 3,
    lambda i: np.seterr(divide=L(i, "warn", "ignore")),
)
env(
    "np_print",
    lambda: len(str(np.array([1.23456]))),
    lambda i: np.set_printoptions(precision=L(i, 8, 2)),
)
env(
    "getenv",
    lambda: float(os.getenv("RLK", "1")),
    lambda i: os.environ.__setitem__("RLK", L(i, "2", "3")),
)
env(
    "recursion",
    lambda: sys.getrecursionlimit() / 1000,
    lambda i: sys.setrecursionlimit(L(i, 1000, 2000)),
)
env("cwd", lambda: len(os.getcwd()), lambda i: os.chdir(L(i, "/tmp", "/")))
env("random_state", lambda: random.random(), lambda i: random.seed(1))
env("np_random", lambda: float(np.random.rand()), lambda i: np.random.seed(1))
env("flags", lambda: 2 + sys.flags.optimize, lambda i: None)
TL = threading.local()
TL.k = 2.0
env("threadlocal", lambda: TL.k, lambda i: setattr(TL, "k", L(i, 2.0, 3.0)))
CV = contextvars.ContextVar("CV", default=2.0)
env("contextvar", lambda: CV.get(), lambda i: CV.set(L(i, 2.0, 3.0)))
env("warnfilters", lambda: len(__import__("warnings").filters) + 1, lambda i: None)
env("hash", lambda: hash("a") % 7 + 1, lambda i: None)
env("getattrname", lambda: len(getattr.__name__), lambda i: None)
